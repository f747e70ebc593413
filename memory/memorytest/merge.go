package memorytest

import (
	"fmt"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// mergeRules are those of what is said again, or otherwise.
var mergeRules = []rule{
	{"takes the same words for the same", "a memory that repeats itself is no help", "Merge Metadata", func(c check) {
		first := driver.Note{
			URI: prefs.Join("a"), Text: "Likes tea.", Importance: 0.3, Trust: driver.TrustAgent, Time: day(5), Created: day(1),
			Meta: map[string]string{"one": "1", "both": "old"}, Source: driver.Source{Chunk: 3},
		}
		again := driver.Note{
			URI: prefs.Join("a"), Text: "  likes   TEA", Importance: 0.2, Trust: driver.TrustUser, Time: day(7),
			Meta: map[string]string{"two": "2", "both": "new"},
		}
		c.put(driver.Merge, first)
		c.put(driver.Merge, again)
		n := c.get(prefs.Join("a"))
		if !driver.Same(n.Text, first.Text) || !n.Created.Equal(day(1)) || !n.Time.Equal(day(7)) {
			c.broken("the note is %q, kept first %v and said last %v", n.Text, n.Created, n.Time)
		}
		if n.Importance != 0.3 || n.Trust != driver.TrustUser || !n.Until.IsZero() {
			c.broken("the note has importance %v, trust %q, until %v", n.Importance, n.Trust, n.Until)
		}
		c.same(map[string]string{"one": "1", "two": "2", "both": "new"}, n.Meta, "the metadata")
		again.Time = day(2)
		if n := c.put(driver.Merge, again)[0]; !n.Time.Equal(day(7)) {
			c.broken("said once more, but earlier: its time is %v", n.Time)
		}
		c.same([]string{"a"}, c.list(prefs), "what is there")
	}},
	{"refuses another note's place", "what is kept must not vanish by chance", "Merge", func(c check) {
		c.put(driver.Merge, note(prefs.Join("a"), "likes tea"))
		_, err := c.s.Put(c.ctx, driver.Merge, note(prefs.Join("a"), "likes coffee"))
		c.is(err, driver.ErrExists, "put another note there")
		c.holds(prefs.Join("a"), "likes tea")
	}},
	{"ends what is no longer true", "both who lives where, and since when, must be known", "Merge Metadata", func(c check) {
		city := func(name, text string, n int) driver.Note {
			return c.put(driver.Merge, driver.Note{URI: prefs.Join(name), Text: text, About: "user.city", Time: day(n)})[0]
		}
		city("a", "lives in Berlin", 1)
		c.put(driver.Merge, driver.Note{URI: prefs.Join("food"), Text: "likes tea", About: "user.food", Time: day(1)})
		c.put(driver.Merge, driver.Note{URI: facts.Join("x"), Text: "lives in Rome", About: "user.city", Time: day(1)})
		c.put(driver.Merge, driver.Note{URI: prefs.Join("deep", "x"), Text: "lives in Oslo", About: "user.city", Time: day(1)})
		if n := city("b", "lives in Paris", 2); n.Replaces != prefs.Join("a") || !n.Until.IsZero() {
			c.broken("the new note replaces %q and holds until %v", n.Replaces, n.Until)
		}
		ends := func(uri driver.URI, want time.Time) {
			c.Helper()
			if n := c.get(uri); !n.Until.Equal(want) {
				c.broken("%s, %q, holds until %v, want %v", uri, n.Text, n.Until, want)
			}
		}
		ends(prefs.Join("a"), day(2))
		ends(prefs.Join("b"), time.Time{})
		ends(prefs.Join("food"), time.Time{})
		ends(facts.Join("x"), time.Time{})
		ends(prefs.Join("deep", "x"), time.Time{})
		city("a", "lives in Berlin", 3) // back again
		ends(prefs.Join("a"), time.Time{})
		ends(prefs.Join("b"), day(3))
		city("c", "lives in Madrid", 4)
		ends(prefs.Join("a"), day(4))
		ends(prefs.Join("b"), day(3))
	}},
	{"does not let the less trusted end what the more trusted said", "a web page must not talk a user's wish away", "Merge Metadata", func(c check) {
		said := func(name, text string, n int, by driver.Trust) driver.Note {
			return c.put(driver.Merge, driver.Note{URI: prefs.Join(name), Text: text, About: "user.city", Time: day(n), Trust: by})[0]
		}
		user := said("a", "lives in Berlin", 1, driver.TrustUser)
		for i, by := range []driver.Trust{driver.TrustUnknown, driver.TrustResource, driver.TrustTool, driver.TrustAgent} {
			name := prefs.Join("by", string(by), "x")
			kept := c.put(driver.Merge,
				driver.Note{URI: prefs.Join("b" + string(by)), Text: "lives in city " + string(by), About: "user.city", Time: day(5 + i), Trust: by},
				driver.Note{URI: name, Text: "replaces it", Time: day(5 + i), Trust: by, Replaces: user.URI})
			for _, n := range kept {
				if !n.Until.IsZero() || n.Replaces == user.URI {
					c.broken("what %q says, %q, holds until %v and replaces %q", by, n.Text, n.Until, n.Replaces)
				}
			}
			c.same(user, c.get(user.URI), "the user's note after what "+string(by)+" said")
		}
		late := said("c", "lives in Paris", 3, driver.TrustUser)
		if old := c.get(user.URI); !late.Until.IsZero() || !old.Until.Equal(day(3)) {
			c.broken("what the user said last holds until %v, what was before it until %v", late.Until, old.Until)
		}
	}},
	{"does not believe what is only repeated", "a model repeats what it has read", "Merge Metadata", func(c check) {
		for i, test := range []struct{ old, again, want driver.Trust }{
			{driver.TrustTool, driver.TrustAgent, driver.TrustTool},
			{driver.TrustUnknown, driver.TrustResource, driver.TrustUnknown},
			{driver.TrustTool, driver.TrustUser, driver.TrustUser},
			{driver.TrustUser, driver.TrustAgent, driver.TrustUser},
			{driver.TrustAgent, driver.TrustTool, driver.TrustAgent},
		} {
			n := driver.Note{URI: prefs.Join(fmt.Sprint(i)), Text: fmt.Sprint("likes tea ", i), Trust: test.old, Time: day(1)}
			c.put(driver.Merge, n)
			n.Trust, n.Time = test.again, day(2)
			if n := c.put(driver.Merge, n)[0]; n.Trust != test.want {
				c.broken("%q said it, then %q: the trust is %q, want %q", test.old, test.again, n.Trust, test.want)
			}
		}
	}},
	{"does not let the less trusted change what was said", "nobody may put words beside a user's", "Merge Metadata", func(c check) {
		old := c.put(driver.Merge, driver.Note{URI: prefs.Join("a"), Text: "Likes tea.", Trust: driver.TrustUser, Time: day(1), Importance: 0.2, Meta: map[string]string{"k": "v"}})[0]
		c.put(driver.Merge, driver.Note{
			URI: prefs.Join("b"), Text: "likes TEA", Trust: driver.TrustTool, Time: day(2), Until: day(3), Importance: 1,
			About: "user.city", Title: "Orders", Context: "Do", Meta: map[string]string{"k": "w", "l": "x"},
		})
		c.same(old, c.get(old.URI), "the user's note")
	}},
	{"takes different facts for different", "one must not swallow the other", "Merge", func(c check) {
		texts := []string{"programs in C", "programs in C#", "programs in C++", "owes 5", "owes 5%", "-5 is the limit", "5 is the limit", ".5 is the limit"}
		for i, text := range texts {
			c.put(driver.Merge, note(prefs.Join(fmt.Sprint(i)), text))
		}
		for i, text := range texts {
			c.holds(prefs.Join(fmt.Sprint(i)), text)
		}
	}},
	{"ends what a note says it replaces", "who corrects something names it", "Merge Metadata", func(c check) {
		c.put(driver.Merge, driver.Note{URI: prefs.Join("a"), Text: "likes tea", Time: day(1)}, driver.Note{URI: prefs.Join("b"), Text: "likes dogs", Time: day(1)})
		n := c.put(driver.Merge, driver.Note{URI: facts.Join("c"), Text: "likes coffee", Time: day(2), Replaces: prefs.Join("a")})[0]
		if old := c.get(prefs.Join("a")); !old.Until.Equal(day(2)) || n.Replaces != old.URI {
			c.broken("it holds until %v, and %q was replaced", old.Until, n.Replaces)
		}
		if other := c.get(prefs.Join("b")); !other.Until.IsZero() {
			c.broken("another note holds until %v", other.Until)
		}
	}},
	{"lets hold what was said last", "sessions may be committed in any order", "Merge Metadata", func(c check) {
		c.put(driver.Merge, driver.Note{URI: prefs.Join("a"), Text: "lives in Berlin", About: "user.city", Time: day(5)})
		old := c.put(driver.Merge, driver.Note{URI: prefs.Join("b"), Text: "lives in Paris", About: "user.city", Time: day(3)})[0]
		if n := c.get(prefs.Join("a")); !n.Until.IsZero() || !old.Until.Equal(day(5)) {
			c.broken("what was said last holds until %v, what was said before it until %v", n.Until, old.Until)
		}
	}},
	{"says the same as often as it is told", "an effect may be repeated", "Merge Metadata", func(c check) {
		n := driver.Note{URI: prefs.Join("b"), Text: "lives in Paris", About: "user.city", Time: day(2)}
		c.put(driver.Merge, driver.Note{URI: prefs.Join("a"), Text: "lives in Berlin", About: "user.city", Time: day(1)})
		first := c.put(driver.Merge, n)[0]
		before := c.get(prefs.Join("a"))
		c.same(first, c.put(driver.Merge, n)[0], "the note that was put again")
		c.same(first, c.get(n.URI), "the note that is kept")
		c.same(before, c.get(prefs.Join("a")), "the note that it replaced")
	}},
}

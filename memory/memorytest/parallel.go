package memorytest

import (
	"fmt"
	"sync"

	"github.com/openrath-go/rath/memory/driver"
)

// parallelRules are those of many callers at the same time.
var parallelRules = []rule{
	{"takes notes from many at once", "many agents share one memory", "", func(c check) {
		const writers, each = 16, 8
		c.together(writers, func(i int) error {
			for j := range each {
				uri := prefs.Join(fmt.Sprint("w", i), fmt.Sprint(j))
				if _, err := c.s.Put(c.ctx, driver.Replace, note(uri, string(uri)), note(prefs.Join("shared"), fmt.Sprint(i))); err != nil {
					return err
				}
				if n, err := c.s.Get(c.ctx, uri); err != nil || n.Text != string(uri) {
					return fmt.Errorf("%s holds %q, %w", uri, n.Text, err)
				}
			}
			return nil
		})
		for i := range writers {
			if names := c.list(prefs.Join(fmt.Sprint("w", i))); len(names) != each {
				c.broken("of the %dth there are %q", i, names)
			}
		}
	}},
	{"keeps one note of many that say the same", "an order of arrival is no reason to repeat", "Merge", func(c check) {
		c.together(16, func(i int) error {
			_, err := c.s.Put(c.ctx, driver.Merge, note(prefs.Join("same"), "likes tea"))
			return err
		})
		c.same([]string{"same"}, c.list(prefs), "what is there")
	}},
	{"lets one note hold of many about the same", "of two truths one is wrong", "Merge Metadata", func(c check) {
		const n = 12
		c.together(n, func(i int) error {
			_, err := c.s.Put(c.ctx, driver.Merge, driver.Note{URI: prefs.Join(fmt.Sprint(i)), Text: fmt.Sprint("city ", i), About: "user.city", Time: day(1 + i)})
			return err
		})
		holding := 0
		for i := range n {
			if c.get(prefs.Join(fmt.Sprint(i))).Until.IsZero() {
				holding++
			}
		}
		if holding != 1 {
			c.broken("%d notes hold", holding)
		}
	}},
	{"mixes readers and writers", "agents read what others write", "", func(c check) {
		c.replace(string(prefs.Join("both", "a")), "0", string(prefs.Join("both", "b")), "0")
		whole := claims(c.s.Capabilities(), "Atomic")
		c.together(12, func(i int) error {
			for j := range 10 {
				text := fmt.Sprint(i, "-", j)
				switch i % 3 {
				case 0:
					if _, err := c.s.Put(c.ctx, driver.Replace, note(prefs.Join("both", "a"), text), note(prefs.Join("both", "b"), text)); err != nil {
						return err
					}
				case 1:
					if entries, err := c.s.List(c.ctx, prefs.Join("both")); err != nil || whole && len(entries) != 2 {
						return fmt.Errorf("%d entries, %w", len(entries), err)
					}
				case 2:
					if _, err := c.s.Find(c.ctx, driver.Query{Text: text, Limit: 5}); err != nil && claims(c.s.Capabilities(), "Lexical") {
						return err
					}
				}
			}
			return nil
		})
		if a, b := c.get(prefs.Join("both", "a")), c.get(prefs.Join("both", "b")); whole && a.Text != b.Text {
			c.broken("one holds %q, the other %q", a.Text, b.Text)
		}
	}},
}

// together does something n times at once.
func (c check) together(n int, do func(i int) error) {
	c.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(i); err != nil {
				c.broken("the %dth of %d: %v", i, n, err)
			}
		})
	}
	all.Wait()
}

package memorytest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory/driver"
)

// findRules are those of what is found by words and by meaning.
var findRules = []rule{
	{"finds words", "that is what it is for", "Lexical", func(c check) {
		c.replace(string(prefs.Join("tea")), "Prefers green TEA, never sugar.", string(prefs.Join("dog")), "Has a dog called Rex", string(docs.Join("x")), "A teapot is described here")
		found := c.finds(driver.Query{Text: "tea"}, prefs.Join("tea"))
		if found.Match != "words" || found.Notice != "" {
			c.broken("the match is %q, the notice %q", found.Match, found.Notice)
		}
		c.finds(driver.Query{Text: "REX?"}, prefs.Join("dog"))
		c.finds(driver.Query{Text: "dog tea"}, prefs.Join("dog"), prefs.Join("tea"))
		c.finds(driver.Query{Text: "cat"})
	}},
	{"finds the best first", "few notes are read", "Lexical", func(c check) {
		for i := range 20 {
			c.replace(string(docs.Join(fmt.Sprint("other-", i))), fmt.Sprintf("green paint number %d on a wall, which dries slowly", i))
		}
		c.replace(string(docs.Join("best")), "green tea dries slowly", string(docs.Join("tea")), "black tea with milk, some honey, and a slice of lemon cake beside it")
		c.finds(driver.Query{Text: "tea"}, docs.Join("best"), docs.Join("tea"))
		found := c.find(driver.Query{Text: "green tea", Limit: 5})
		if got := uris(found); len(got) != 5 || got[0] != docs.Join("best") {
			c.broken("found %q", got)
		}
		for i, h := range found.Hits[1:] {
			if h.Score > found.Hits[i].Score || h.Score <= 0 {
				c.broken("the score %v comes behind %v", h.Score, found.Hits[i].Score)
			}
		}
	}},
	{"finds no more than it is asked for", "a context has an end", "Lexical", func(c check) {
		var notes []driver.Note
		for i := range 30 {
			notes = append(notes, note(docs.Join(fmt.Sprint(i)), fmt.Sprint("tea of kind ", i)))
		}
		c.put(driver.Replace, notes...)
		for _, limit := range []int{1, 7, 30, 100} {
			if got := c.find(driver.Query{Text: "tea", Limit: limit}); len(got.Hits) != min(limit, 30) {
				c.broken("%d notes for a limit of %d", len(got.Hits), limit)
			}
		}
	}},
	{"finds in folders", "each project has its own", "Lexical", func(c check) {
		c.replace(string(docs.Join("a")), "tea", string(docs.Join("a", "b")), "tea", string(docs.Join("a", "b", "c")), "tea",
			string(docs.Join("ab")), "tea", string(docs.Join("a0", "x")), "tea", string(prefs.Join("a")), "tea")
		c.finds(driver.Query{Text: "tea", Under: []driver.URI{docs.Join("a")}}, docs.Join("a"), docs.Join("a", "b"), docs.Join("a", "b", "c"))
		c.finds(driver.Query{Text: "tea", Under: []driver.URI{docs.Join("a", "b"), "memory://user"}}, docs.Join("a", "b"), docs.Join("a", "b", "c"), prefs.Join("a"))
		c.finds(driver.Query{Text: "tea", Under: []driver.URI{docs.Join("none")}})
		if got := c.find(driver.Query{Text: "tea", Under: []driver.URI{driver.Root}}); len(got.Hits) != 6 {
			c.broken("%d notes of 6 are in the root", len(got.Hits))
		}
	}},
	{"finds words of all languages", "people speak theirs", "Lexical", func(c check) {
		c.replace(string(prefs.Join("zh")), "我住在上海，喜欢喝绿茶。", string(prefs.Join("ja")), "私は日本語を勉強しています", string(prefs.Join("ko")), "저는 서울에 살아요",
			string(prefs.Join("de")), "Ärger mit der STRAẞE in Köln", string(prefs.Join("ru")), "Живёт в Москве", string(prefs.Join("mix")), "用 Kubernetes 部署服务")
		for text, name := range map[string]string{
			"上海": "zh", "绿茶": "zh", "日本語": "ja", "서울에": "ko", "ärger": "de", "KÖLN": "de", "москве": "ru", "kubernetes": "mix", "部署": "mix",
		} {
			c.finds(driver.Query{Text: text}, prefs.Join(name))
		}
		c.finds(driver.Query{Text: "北京"})
	}},
	{"finds phrases and beginnings", "who knows what it says asks for just that", "Lexical", func(c check) {
		c.replace(string(docs.Join("a")), "the green tea of Kyoto", string(docs.Join("b")), "tea that is green", string(docs.Join("c")), "a teapot")
		c.finds(driver.Query{Text: `"green tea"`}, docs.Join("a"))
		c.finds(driver.Query{Text: "tea*"}, docs.Join("a"), docs.Join("b"), docs.Join("c"))
		c.finds(driver.Query{Text: "teap*"}, docs.Join("c"))
	}},
	{"takes any query", "models and people write anything", "Lexical", func(c check) {
		c.replace(string(docs.Join("a")), "tea")
		for _, text := range []string{
			`"`, `""`, `" "`, "*", "***", "AND", "NOT tea", "tea AND NOT", "NEAR(tea, 2)", "text:tea", "{a b}: tea", "-tea", "+tea", "^tea", "(tea", "tea)", `tea"`, `'tea`, "tea;--",
			"\x00", "%_", "?!.,", "，。", "\U0001F9E0", `\`, strings.Repeat("tea ", 500), strings.Repeat("x", 5000), strings.Repeat(`"`, 999),
		} {
			if _, err := c.s.Find(c.ctx, driver.Query{Text: text, Limit: 3}); err != nil {
				c.broken("find %.40q: %v", text, err)
			}
		}
		c.finds(driver.Query{Text: "(tea"}, docs.Join("a"))
	}},
	{"shows what it found", "a snippet tells why", "Lexical", func(c check) {
		filler := strings.Repeat("This sentence has nothing to do with it. ", 200)
		c.replace(string(docs.Join("long")), filler+"The zebra eats quietly. "+filler, string(docs.Join("short")), "A giraffe.", string(docs.Join("zh")), strings.Repeat("这句话与此无关。", 300)+"斑马安静地吃草。"+strings.Repeat("这句话与此无关。", 300))
		h := c.finds(driver.Query{Text: "zebra", Snippet: 100}, docs.Join("long")).Hits[0]
		if n := utf8.RuneCountInString(h.Snippet); !strings.Contains(h.Snippet, "zebra") || h.Whole || n > 150 {
			c.broken("the snippet, %d runes of about 100, whole: %v, is %q", n, h.Whole, h.Snippet)
		}
		h = c.finds(driver.Query{Text: "斑马", Snippet: 100}, docs.Join("zh")).Hits[0]
		if n := utf8.RuneCountInString(h.Snippet); !strings.Contains(h.Snippet, "斑马") || h.Whole || n > 150 || !utf8.ValidString(h.Snippet) {
			c.broken("the snippet, %d runes of about 100, whole: %v, is %q", n, h.Whole, h.Snippet)
		}
		h = c.finds(driver.Query{Text: "giraffe"}, docs.Join("short")).Hits[0]
		if h.Snippet != "A giraffe." || !h.Whole || h.Text != "" {
			c.broken("the snippet, whole: %v, is %q, the text %q", h.Whole, h.Snippet, h.Text)
		}
	}},
	{"finds what is there now", "what was corrected must not come back", "Lexical", func(c check) {
		c.replace(string(prefs.Join("a")), "likes tea", string(prefs.Join("b")), "hates tea", string(prefs.Join("c")), "likes walks")
		c.finds(driver.Query{Text: "tea"}, prefs.Join("a"), prefs.Join("b"))
		c.replace(string(prefs.Join("a")), "likes coffee")
		c.finds(driver.Query{Text: "tea"}, prefs.Join("b"))
		c.finds(driver.Query{Text: "coffee"}, prefs.Join("a"))
		_, err := c.s.Remove(c.ctx, prefs.Join("b"), false)
		c.must(err, "remove")
		c.finds(driver.Query{Text: "tea"})
		_, err = c.s.Remove(c.ctx, "memory://user/memories", true)
		c.must(err, "remove all")
		c.finds(driver.Query{Text: "likes"})
	}},
	{"finds titles and headings", "a piece of a document is found for what it belongs to", "Lexical Metadata", func(c check) {
		c.put(driver.Replace, driver.Note{URI: docs.Join("a"), Text: "Turn it twice.", Title: "Manual of the samovar", Context: "Maintenance > Lid"})
		c.finds(driver.Query{Text: "samovar"}, docs.Join("a"))
		c.finds(driver.Query{Text: "maintenance"}, docs.Join("a"))
	}},
	{"finds meanings", "people do not remember the words", "Semantic", func(c check) {
		texts := []string{"likes green tea in the morning", "has a dog called Rex", "works at a bank in Zurich"}
		for i, text := range texts {
			c.replace(string(prefs.Join(fmt.Sprint(i))), text)
		}
		for i, text := range texts {
			q := driver.Query{Text: text, Match: driver.MatchMeaning, Limit: 3}
			found := c.finds(q, prefs.Join("0"), prefs.Join("1"), prefs.Join("2"))
			if h := found.Hits[0]; h.URI != prefs.Join(fmt.Sprint(i)) || h.Meaning <= 0 || found.Match != "meaning" {
				c.broken("of %q the best is %s with %v, by %q", text, h.URI, h.Meaning, found.Match)
			}
		}
	}},
}

package local

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"Hello, world!":       "hello world",
		"snake_case_word":     "snake_case_word snake case word",
		"HTTPServer":          "httpserver http server",
		"parseQuery2":         "parsequery2 parse query2",
		"v1.60.1, then":       "v1.60.1 v1 60 1 then",
		"the end. Next":       "the end next",
		"__init__":            "init",
		"_ . _.":              "",
		"python3-numpy":       "python3 numpy",
		"数据库":                 "数据 据库 库",
		"用Go写":                "用 go 写",
		"日本語ー":                "日本 本語 語ー ー",
		"한국":                  "한국 국",
		"\xff\xfe broken\xff": "broken",
	} {
		if diff := cmp.Diff(want, strings.Join(analyzer{}.words(text), " ")); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"a_b.c", "数据Go库", "\xff", `"a b" c*`, "ＡＢ", "ﷺ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		analyzer{}.each(text, func(w word) {
			if w.start < 0 || w.end > len(text) || w.start >= w.end || w.text == "" || strings.ContainsAny(w.text, " \"*\x00") {
				t.Errorf("%q gives %+v", text, w)
			}
			if !w.part && w.start < last {
				t.Errorf("%q gives %+v behind %d", text, w, last)
			}
			last = w.start
		})
		for _, p := range (analyzer{}).parse(text) {
			if len(p.words) == 0 || p.times == 0 {
				t.Errorf("%q gives %+v", text, p)
			}
		}
	})
}

func FuzzSnippet(f *testing.F) {
	f.Add("one two three four five six seven eight nine ten", "six", 20)
	f.Add(strings.Repeat("数据库的备份", 50), "备份", 10)
	f.Fuzz(func(t *testing.T, text, query string, size int) {
		size = 1 + (size%500+500)%500
		s := &search{}
		s.query.Snippet = size
		var terms []term
		for _, p := range (analyzer{}).parse(query) {
			if !p.must {
				terms = append(terms, term{phrase: p, weight: 1})
			}
		}
		s.scorer = newScorer(analyzer{}, terms, 10)
		snippet, whole := s.snippet(text)
		if whole != (snippet == text && utf8.RuneCountInString(text) <= size) {
			t.Errorf("%q: %q is the whole: %v", text, snippet, whole)
		}
		if !whole && utf8.RuneCountInString(snippet) > size+2 {
			t.Errorf("%q has more than %d runes", snippet, size)
		}
	})
}

package resource

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"":           0,
		"a":          1,
		"word":       1,
		"words":      2,
		"内存检索":       4,
		"内存 ok":      3,
		"ひらがな":       4,
		"한국어":        3,
		"ภาษา":       4,
		"слово":      3,
		"。，":         2,
		"\U0001f600": 1,
	} {
		if got := Tokens(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// squeeze leaves out spaces: those between pieces are not kept.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// checkPieces checks the promises that hold for all pieces: they cover the text in order,
// none is too long, and each repeats as much as it says.
func checkPieces(t interface {
	Fatalf(string, ...any)
	Helper()
}, blocks []block, pieces []Piece, limit, overlap int) {
	t.Helper()
	var want, got strings.Builder
	for _, b := range blocks {
		want.WriteString(b.text)
	}
	for i, p := range pieces {
		switch {
		case Tokens(p.Text) > limit:
			t.Fatalf("piece %d has %d tokens, more than %d", i, Tokens(p.Text), limit)
		case strings.TrimSpace(p.Text) == "" || !utf8.ValidString(p.Text):
			t.Fatalf("piece %d is %q", i, p.Text)
		case p.Overlap < 0 || p.Overlap >= len(p.Text):
			t.Fatalf("piece %d repeats %d of %d bytes", i, p.Overlap, len(p.Text))
		}
		head := p.Text[:p.Overlap]
		if p.Overlap > 0 && (i == 0 || !strings.HasSuffix(pieces[i-1].Text, head) || Tokens(head) > overlap) {
			t.Fatalf("piece %d repeats %q, which the one before does not end with, or which is more than %d tokens", i, head, overlap)
		}
		got.WriteString(p.Text[p.Overlap:])
	}
	if diff := cmp.Diff(squeeze(want.String()), squeeze(got.String())); diff != "" {
		t.Fatalf("the pieces are not the text:\n%s", diff)
	}
}

var prose = rapid.Custom(func(t *rapid.T) string {
	word := rapid.SampledFrom([]string{"memory", "a", "retrieval.", "Why?", "内存检索需要分词。", "全文索引", "слово", "don't", "\n\n", "\n", "  ",
		"```\n", "# Heading\n", "\n## Below\n\n", "- item\n", "func f() {\n", "\tx := 1\n", "}\n", "===\n", "---\n", strings.Repeat("x", 300),
		strings.Repeat("字", 200), "\u2028", "\U0001f600", "<p>", "</p>", "a,b,c\n"})
	return strings.Join(rapid.SliceOfN(word, 0, 200).Draw(t, "words"), rapid.SampledFrom([]string{" ", "", "\n"}).Draw(t, "between"))
})

func TestPiecesCoverTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := prose.Draw(t, "text")
		limit := rapid.IntRange(16, 100).Draw(t, "limit")
		overlap := rapid.IntRange(0, limit/2).Draw(t, "overlap")
		_, md := readMarkdown(text)
		for _, blocks := range [][]block{md, readText(text), readLines(text), readTable(text), readCode("x.go", text)} {
			if !strings.HasPrefix(text, "---\n") && squeeze(join(blocks)) != squeeze(text) {
				t.Fatalf("the blocks are not the text:\n%s", cmp.Diff(text, join(blocks)))
			}
			checkPieces(t, blocks, cut(blocks, limit, overlap), limit, overlap)
		}
	})
}

func join(blocks []block) string {
	var b strings.Builder
	for _, bl := range blocks {
		b.WriteString(bl.text)
	}
	return b.String()
}

// Where a piece says that what is new in it begins, it does.
func TestPiecesKnowTheirLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := prose.Draw(t, "text")
		lines := strings.Split(text, "\n")
		_, md := readMarkdown(text)
		for _, blocks := range [][]block{md, readText(text), readLines(text), readCode("x.go", text)} {
			for _, p := range cut(blocks, 30, 8) {
				first, _, _ := strings.Cut(strings.TrimLeft(p.Text[p.Overlap:], " \n"), "\n")
				rest := strings.TrimLeft(strings.Join(lines[p.Line-1:], "\n"), " \n")
				if !strings.Contains(squeeze(rest), squeeze(first)) {
					t.Fatalf("line %d of %q does not have %q", p.Line, text, first)
				}
			}
		}
	})
}

func TestCutAtTheEndsOfSentences(t *testing.T) {
	text := strings.Repeat("The first sentence is here. Is the second one too? 这是第一句话。这是第二句！ ", 20)
	for i, p := range cut(readText(text), 40, 12) {
		if end, _ := utf8.DecodeLastRuneInString(p.Text); !strings.ContainsRune(".?。！", end) {
			t.Errorf("piece %d ends in a sentence: %q", i, p.Text)
		}
		if i > 0 && p.Overlap == 0 {
			t.Errorf("piece %d repeats nothing", i)
		}
	}
}

func TestFencesStayWhole(t *testing.T) {
	fence := "```go\nfunc main() {\n\n\tprintln(1)\n\n}\n```\n"
	text := "# A\n\n" + strings.Repeat("Some words before the code. ", 8) + "\n\n" + fence + "\n" + strings.Repeat("Some words after it. ", 12)
	_, blocks := readMarkdown(text)
	for _, p := range cut(blocks, 60, 10) {
		if strings.Contains(p.Text, fence[:len(fence)-1]) {
			return
		}
	}
	t.Errorf("the fence is cut: %+v", cut(blocks, 60, 10))
}

package resource

import (
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// fuzz checks the promises of pieces for whatever a reader makes of bytes.
func fuzz(f *testing.F, name string, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), uint8(20))
	}
	f.Fuzz(func(t *testing.T, data []byte, limit uint8) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		o := &Options{PieceTokens: 16 + int(limit), Overlap: 8}
		doc, err := Parse(ctx, name, "", data, o)
		if err != nil {
			if !strings.Contains(err.Error(), name) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		for i, p := range doc.Pieces {
			switch {
			case Tokens(p.Text) > o.PieceTokens || !utf8.ValidString(p.Text) || p.Overlap >= len(p.Text):
				t.Fatalf("%+v", p)
			case p.Overlap > 0 && (i == 0 || !strings.HasSuffix(doc.Pieces[i-1].Text, p.Text[:p.Overlap])):
				t.Fatalf("piece %d repeats what is not there: %+v", i, doc.Pieces)
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	fuzz(f, "x.md", "# A\n\n```\nb\n", "A\n===\nb\n---\n", "---\ntitle: x\n---\n", "~~~~\n~~~\n~~~~\n# x #\n")
}

func FuzzHTML(f *testing.F) {
	fuzz(f, "x.html", "<h1>A<p>b<pre> c\n", "<table><tr><td>1<td>2", strings.Repeat("<div>", 600)+"x", "<svg><title>x", "<body><main></main>y")
}

func FuzzCode(f *testing.F) {
	fuzz(f, "x.go", "func f() {\n\n}\n", "class A:\n\n    def b(self): pass", "int main(void)\n{\n}\n")
}

func FuzzText(f *testing.F) {
	fuzz(f, "x", "a\n\nb", "caf\xe9", "\xff\xfea\x00", "\xfe\xff\x00a", "内存检索。需要分词！")
}

func FuzzTable(f *testing.F) { fuzz(f, "x.csv", "a,b\n1,2\n", "a\tb") }

// FuzzPages reads what the program in the machine could write.
func FuzzPages(f *testing.F) {
	f.Add("title\n\fone re-\nsult\n\ntwo\f\fthree")
	f.Fuzz(func(t *testing.T, text string) {
		_, blocks := readPages(text)
		for _, p := range cut(blocks, 30, 8) {
			if Tokens(p.Text) > 30 || !utf8.ValidString(p.Text) {
				t.Fatalf("%+v", p)
			}
		}
	})
}

func FuzzIgnore(f *testing.F) {
	f.Add("*.log\n!/keep/**/x\n[a-z]?\\*\n", "a/b/x.log")
	f.Fuzz(func(t *testing.T, rules, name string) {
		var ig ignores
		ig, _ = ig.add("", []byte(rules))
		ig.match(name, false)
	})
}

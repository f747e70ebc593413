package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPrintable(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"plain", "a b\tc\nd é 数 🙂　", "a b\tc\nd é 数 🙂　"},
		{"escape sequence", "\x1b[31mred\x07", `\x1b[31mred\a`},
		{"carriage return", "rm -rf /\rls", `rm -rf /\rls`},
		{"bidirectional override", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"nothing to see", "a\u200b\ufeff\u00ad\u3164\u2028", `a\u200b\ufeff\u00ad\u3164\u2028`},
		{"tags", "a\U000e0041", `a\U000e0041`},
		{"joiner", "a\u200db", `a\u200db`},
		{"C1 control", "a\u009bb", `a\u009bb`},
		{"no UTF-8", "a\xffb", `a\xffb`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, printable(test.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProse(t *testing.T) {
	const text = "می\u200cخواهم 👩\u200d🚀\r\n\u202e"
	if diff := cmp.Diff("می\u200cخواهم 👩\u200d🚀\n"+`\u202e`, prose(text)); diff != "" {
		t.Error(diff)
	}
}

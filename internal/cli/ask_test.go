package cli

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// What is approved is shown: all of it, and as it is.
func TestAskShowsAll(t *testing.T) {
	long := strings.Repeat("echo harmless; ", 1000)
	for _, test := range []struct{ name, arguments, want string }{
		{"the tail", `{"cmd":"` + long + `rm -rf ~"}`, long + `rm -rf ~"}?`},
		{"space between", `{"cmd":"ls",` + strings.Repeat("\n", 1000) + `"dir":"~"}`, `{"cmd":"ls","dir":"~"}?`},
		{"letters as escapes", `{"cmd":"\u0072m -rf ~"}`, `{"cmd":"rm -rf ~"}?`},
		{"a name twice", `{"cmd":"ls","cmd":"rm -rf ~"}`, `{"cmd":"ls","cmd":"rm -rf ~"}?`},
		{"backwards", `{"cmd":"\u202e~ fr- mr"}`, `{"cmd":"\u202e~ fr- mr"}?`},
		{"no JSON", "{rm\x1b[2K", `{rm\x1b[2K?`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			q := &asker{in: strings.NewReader("y\n"), out: &out}
			d, err := q.ask(t.Context(), &tool.Tool{Name: "shell"}, session.Call{Name: "shell", Arguments: test.arguments})
			if err != nil || !d.Allow {
				t.Fatal(d, err)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("%q is not in\n%s", test.want, out.String())
			}
		})
	}
}

func TestAskAnswers(t *testing.T) {
	shell := &tool.Tool{Name: "shell"}
	q := &asker{in: strings.NewReader("y\n\nYES\nno\nmaybe\na\n"), out: new(strings.Builder)}
	var got []bool
	for range 8 { // after "always" nothing is asked
		d, err := q.ask(t.Context(), shell, session.Call{Arguments: "{}"})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d.Allow)
	}
	if diff := cmp.Diff([]bool{true, false, true, false, false, true, true, true}, got); diff != "" {
		t.Error(diff)
	}
	if d, err := q.ask(t.Context(), &tool.Tool{Name: "other"}, session.Call{}); d.Allow || err != nil {
		t.Error("a terminal that is gone allows", d, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent := &asker{in: strings.NewReader(""), out: new(strings.Builder), lines: make(chan string)}
	if _, err := silent.ask(ctx, shell, session.Call{}); err == nil {
		t.Error("the end of the run was not noticed")
	}
}

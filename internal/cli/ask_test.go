package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
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
			d, err := q.decide(t.Context(), question("shell", test.arguments))
			if err != nil || d.Verdict != flow.Approve {
				t.Fatal(d, err)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("%q is not in\n%s", test.want, out.String())
			}
		})
	}
}

func question(tool, arguments string) flow.Question {
	return flow.Question{Request: flow.Request{Kind: flow.KindApproval, Call: &flow.CallRequest{Tool: tool, Arguments: arguments}}}
}

func TestAskAnswers(t *testing.T) {
	q := &asker{in: strings.NewReader("y\n\nYES\nno\nmaybe\nedit\n{\n{\"cmd\":\"ls\"}\ne\n\na\n"), out: new(strings.Builder)}
	var got []flow.Decision
	for range 10 { // after "always" nothing is asked
		d, err := q.decide(t.Context(), question("shell", "{}"))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	yes := flow.Decision{Verdict: flow.Approve}
	edited := flow.Decision{Verdict: flow.Edit, Arguments: `{"cmd":"ls"}`}
	if diff := cmp.Diff([]flow.Decision{yes, refused, yes, refused, refused, edited, refused, yes, yes, yes}, got); diff != "" {
		t.Error(diff)
	}
	if d, err := q.decide(t.Context(), question("other", "{}")); d != refused || err != nil {
		t.Error("a terminal that is gone allows", d, err)
	}
	if _, err := q.decide(t.Context(), flow.Question{Request: flow.Request{Kind: flow.KindInput}}); !errors.Is(err, run.ErrLater) {
		t.Error("what is no approval is not left for later", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent := &asker{in: strings.NewReader(""), out: new(strings.Builder), lines: make(chan string)}
	if _, err := silent.decide(ctx, question("shell", "{}")); err == nil {
		t.Error("the end of the run was not noticed")
	}
}

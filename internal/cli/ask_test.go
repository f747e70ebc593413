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
	yes := flow.Decision{Verdict: flow.Approve}
	reject := func(why string) flow.Decision { return flow.Decision{Verdict: flow.Reject, Text: why} }
	for _, test := range []struct {
		typed string
		want  flow.Decision
	}{
		{"y", yes},
		{"YES", yes},
		{"yes please\ny", yes},
		{"?\nno", refused},
		{"\n\nmaybe\nn", refused},
		{"no", refused},
		{"n not today", reject("not today")},
		{"No, use the other file", reject("use the other file")},
		{"yes, but not in src", unanswered},
		{"", unanswered},
		{"maybe", unanswered},
		{"edit\n{", unanswered},
		{"edit\n{\n{\"cmd\":\"ls\"}", flow.Decision{Verdict: flow.Edit, Arguments: `{"cmd":"ls"}`}},
		{"e\n", refused},
		{"r\nit is in a.txt", flow.Decision{Verdict: flow.Respond, Text: "it is in a.txt"}},
		{"respond\n", refused},
	} {
		q := &asker{in: strings.NewReader(test.typed + "\n"), out: new(strings.Builder)}
		got, err := q.decide(t.Context(), question("shell", "{}"))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", test.typed, err, diff)
		}
		if err := got.Check(); err != nil {
			t.Errorf("%q: %v", test.typed, err)
		}
	}
}

func TestAskAlways(t *testing.T) {
	q := &asker{in: strings.NewReader("a\n"), out: new(strings.Builder)}
	for range 3 { // after "always" nothing is asked
		if d, err := q.decide(t.Context(), question("shell", "{}")); d.Verdict != flow.Approve || err != nil {
			t.Error(d, err)
		}
	}
	if d, err := q.decide(t.Context(), question("other", "{}")); d != unanswered || err != nil {
		t.Error("a terminal that is gone allows", d, err)
	}
}

func TestAskForText(t *testing.T) {
	for _, kind := range []flow.RequestKind{flow.KindInput, flow.KindReview} {
		asked := flow.Question{Request: flow.Request{Kind: kind, Message: "which\x1b file?", Data: []byte(`{"draft":1}`)}}
		out := new(strings.Builder)
		q := &asker{in: strings.NewReader(" y, the first \n\n"), out: out}
		got, err := q.decide(t.Context(), asked)
		if diff := cmp.Diff(flow.Decision{Verdict: flow.Respond, Text: "y, the first"}, got); diff != "" || err != nil {
			t.Error(kind, err, diff)
		}
		if want := `which\x1b file? {"draft":1}`; !strings.Contains(out.String(), want) {
			t.Errorf("%s: %q is not in %q", kind, want, out.String())
		}
		for range 2 { // nothing, then the end of the terminal
			if d, err := q.decide(t.Context(), asked); !errors.Is(err, run.ErrLater) {
				t.Error("no answer is not left for later", d, err)
			}
		}
	}
	if _, err := new(asker).decide(t.Context(), flow.Question{Request: flow.Request{Kind: "vote"}}); !errors.Is(err, run.ErrLater) {
		t.Error("what cannot be asked here is not left for later", err)
	}
}

func TestAskEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, asked := range []flow.Question{question("shell", "{}"), {Request: flow.Request{Kind: flow.KindInput}}} {
		silent := &asker{in: strings.NewReader(""), out: new(strings.Builder), lines: make(chan string)}
		if _, err := silent.decide(ctx, asked); !errors.Is(err, context.Canceled) {
			t.Error("the end of the run was not noticed", err)
		}
	}
}

package flow_test

import (
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// Every agent below a context uses its model, also one that has none.
func TestWithModel(t *testing.T) {
	w := flow.Sequence{&flow.Agent{Model: scripted.New()}, &flow.Agent{Name: "none"}}
	ctx := llm.WithModel(t.Context(), scripted.New(scripted.Reply{Text: "one"}, scripted.Reply{Text: "two"}))
	out, err := w.Forward(ctx, session.FromUser("x"))
	if err != nil || out.Text() != "two" || out.Len() != 3 {
		t.Errorf("%q of %d chunks: %v", out.Text(), out.Len(), err)
	}
}

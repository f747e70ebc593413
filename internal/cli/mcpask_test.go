package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// A server is told when the model's answer was cut off.
func TestSampleStop(t *testing.T) {
	t.Parallel()
	s := &sampler{model: scripted.New(scripted.Reply{Text: "Bec", Stop: llm.StopLength}, scripted.Reply{Text: "Because."}), most: 2}
	req := &llm.Request{Messages: session.FromUser("Why?").Transcript()}
	for _, want := range []llm.Stop{llm.StopLength, llm.StopEnd} {
		if reply, err := s.sample(t.Context(), req); err != nil || reply.Stop != want {
			t.Errorf("%v, %v, not %s", reply, err, want)
		}
	}
	if _, err := s.sample(t.Context(), req); err == nil || !strings.Contains(err.Error(), "2 times") {
		t.Error(err)
	}
}

// A record may hold the form of a server that means harm.
func TestEndlessForm(t *testing.T) {
	t.Parallel()
	form := json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"allOf":[{"$ref":"#"}]}`)
	if _, err := formOf(flow.Decision{Verdict: flow.Edit, Arguments: `{"x":"y"}`}, form); err == nil {
		t.Error("it is taken")
	}
}

package telemetry_test

import (
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// BenchmarkSilence is all that an agent's round costs where nobody listens: an agent, two
// calls of its model, one of a tool.
func BenchmarkSilence(b *testing.B) {
	agent, req, call := &flow.Agent{Model: scripted.New()}, &llm.Request{}, session.Call{Name: "x"}
	b.ReportAllocs()
	for b.Loop() {
		ctx, working := telemetry.StartAgent(b.Context(), "a", "", agent.Model)
		for range 2 {
			_, chat := telemetry.StartChat(ctx, agent.Model, req)
			chat.End(llm.Reply{}, nil)
		}
		_, tool := telemetry.StartTool(ctx, "", effect.ReadOnly, call)
		tool.End(session.Chunk{}, "", nil)
		working.End(nil)
	}
}

package tool

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/session"
)

// traced performs a call within a span. It runs only where the call is really made: one whose
// result is on record has none.
func (j *job) traced(ctx context.Context) (performed, error) {
	ctx, span := telemetry.StartTool(ctx, j.tool.Description, j.tool.Class, j.inv.call)
	out, err := j.changing(ctx)
	if span != nil {
		span.End(out.Chunk, failureKind(out.Chunk), err)
	}
	return out, err
}

// kinds are the failures that telemetry names: others may have been chosen by anybody.
var kinds = []string{KindException, KindTimeout, KindInterrupted}

// failureKind names how a call failed, empty if it did not.
func failureKind(c session.Chunk) string {
	if c.Answer().Outcome == session.OK {
		return ""
	}
	var f Failure
	if json.Unmarshal([]byte(c.Text()), &f) == nil && slices.Contains(kinds, f.Kind) {
		return f.Kind
	}
	return "tool_failure"
}

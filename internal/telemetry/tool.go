package telemetry

import (
	"context"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Tool is a tool call under way. Nobody listens to the nil Tool.
type Tool struct {
	*listener
	ctx   context.Context
	span  trace.Span
	name  string
	begun time.Time
}

// providerRath is the provider of what Rath does itself. The metrics must have one.
const providerRath = "rath"

// StartTool begins the span of a tool at work, to be ended with End. What the tool does with
// the context that it returns is within the span.
func StartTool(ctx context.Context, description string, class effect.Class, call session.Call) (context.Context, *Tool) {
	l := listening()
	if l == nil {
		return ctx, nil
	}
	attrs := []attribute.KeyValue{
		keyOperation.String(opTool), keyTool.String(call.Name), keyToolCall.String(call.ID),
		keyToolType.String("function"), keyToolClass.String(class.String()),
	}
	if description != "" {
		attrs = append(attrs, keyToolText.String(description))
	}
	t := &Tool{listener: l, name: call.Name, begun: time.Now()}
	ctx, t.span = l.start(ctx, opTool+" "+call.Name, trace.SpanKindInternal, attrs)
	t.ctx = ctx
	if t.span.IsRecording() {
		t.called(call)
	}
	return ctx, t
}

// End ends the call with its result. A failure is named by its kind, empty if there is none;
// err is why there is no result.
func (t *Tool) End(result session.Chunk, failure string, err error) {
	if t == nil {
		return
	}
	if err != nil {
		failure = errorType(err)
	}
	attrs := []attribute.KeyValue{keyOperation.String(opTool), keyProvider.String(providerRath), keyTool.String(t.name)}
	if failure != "" {
		fail(t.span, failure, err)
		attrs = append(attrs, keyErrorType.String(failure))
	}
	if t.span.IsRecording() {
		t.span.SetAttributes(keyToolOutcome.String(result.Answer().Outcome.String()))
		t.gave(result)
	}
	t.took(t.ctx, time.Since(t.begun), attrs...)
	t.span.End()
}

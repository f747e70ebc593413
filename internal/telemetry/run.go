package telemetry

import (
	"context"

	"github.com/openrath-go/rath/session"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Start is what is known of a run as it begins, or goes on.
type Start struct {
	ID     session.ID
	Name   string // of the workflow
	Mode   Mode
	Source session.ID // the run that this one reruns; zero: none
	Input  session.ID
	Before []Place // where its earlier executions were traced
}

// Mode is how a run comes to be executed.
type Mode string

// The modes.
const (
	Started  Mode = "started"
	Resumed  Mode = "resumed"
	Replayed Mode = "replayed"
)

// Place is a span by its ids, in lower-case hexadecimal. The zero Place is none.
type Place struct{ Trace, Span string }

// Run is an execution of a run under way. Nobody listens to the nil Run.
type Run struct{ span trace.Span }

// StartRun begins the span of a run, to be ended with End. It is linked to the spans of the
// run's earlier executions.
func StartRun(ctx context.Context, s Start) (context.Context, *Run) {
	l := listening()
	if l == nil {
		return ctx, nil
	}
	ctx = belonging{run: s.ID.String()}.in(ctx)
	attrs := []attribute.KeyValue{keyOperation.String(opWorkflow), keyWorkflow.String(s.Name), keyRunMode.String(string(s.Mode))}
	if !s.Source.IsZero() {
		attrs = append(attrs, keyRunSource.String(s.Source.String()))
	}
	if !s.Input.IsZero() {
		attrs = append(attrs, keySessionInput.String(s.Input.String()))
	}
	ctx, span := l.start(ctx, opWorkflow+" "+s.Name, trace.SpanKindInternal, attrs)
	for _, p := range s.Before {
		if before := p.context(); before.IsValid() {
			span.AddLink(trace.Link{SpanContext: before})
		}
	}
	return ctx, &Run{span}
}

// context is the place as the API knows it: invalid if there is none.
func (p Place) context() trace.SpanContext {
	id, err := trace.TraceIDFromHex(p.Trace)
	if err != nil {
		return trace.SpanContext{}
	}
	span, err := trace.SpanIDFromHex(p.Span)
	if err != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.FlagsSampled})
}

// Place returns where the run is traced, zero if it is not: nobody listens, or the trace was
// not chosen to be kept.
func (r *Run) Place() Place {
	if r == nil || !r.span.SpanContext().IsSampled() {
		return Place{}
	}
	c := r.span.SpanContext()
	return Place{c.TraceID().String(), c.SpanID().String()}
}

// End ends the execution with the state that it left the run in, and the session that it gave
// or got as far as. failed is why it failed; a run that was put down has not.
func (r *Run) End(state string, out session.ID, failed error) {
	if r == nil {
		return
	}
	r.span.SetAttributes(keyRunState.String(state))
	if !out.IsZero() {
		r.span.SetAttributes(keySessionOutput.String(out.String()))
	}
	if failed != nil {
		fail(r.span, errorType(failed), failed)
	}
	r.span.End()
}

package run

import (
	"context"
	"encoding/json"

	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// trace begins the span of this execution, and notes in the record where it is.
func (h *Handle) trace(ctx context.Context) (context.Context, *telemetry.Run) {
	ctx, span := telemetry.StartRun(ctx, startOf(h.run, h.journal.record))
	if at := span.Place(); at != (telemetry.Place{}) {
		_ = h.journal.note(store.EventTrace, store.Traced{Trace: at.Trace, Span: at.Span}) // the end tells
	}
	return ctx, span
}

func startOf(run store.Run, rec *record) telemetry.Start {
	mode := telemetry.Started
	if run.Lease.Fence > 1 {
		mode = telemetry.Resumed
	}
	return telemetry.Start{ID: run.ID, Name: run.Name, Mode: mode, Source: run.Source, Input: run.Input, Before: rec.traced}
}

// endTrace ends the span of an execution. A run that was put down has not failed.
func (h *Handle) endTrace(span *telemetry.Run) {
	var failed error
	switch h.state {
	case store.Failed, store.TimedOut, store.Cancelled:
		failed = h.err
	}
	span.End(string(h.state), h.out.ID(), failed)
}

// traceReplay begins the span of a replay. Nothing of it is noted, and its calls have none.
func traceReplay(ctx context.Context, run store.Run, rec *record) (context.Context, func(session.Session, error)) {
	start := startOf(run, rec)
	start.Mode = telemetry.Replayed
	ctx, span := telemetry.StartRun(ctx, start)
	return ctx, func(out session.Session, err error) { span.End(string(run.State), out.ID(), err) }
}

// placeOf reads where an event says that the run was traced.
func placeOf(e store.Event) []telemetry.Place {
	var t store.Traced
	if e.Kind != store.EventTrace || json.Unmarshal(e.Body, &t) != nil {
		return nil
	}
	return []telemetry.Place{{Trace: t.Trace, Span: t.Span}}
}

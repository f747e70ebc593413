package cli

import (
	"context"
	"encoding/json"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// String names where it goes, without anything secret.
func (to exports) String() string {
	traces, _ := config.PublicURL(to.traces)
	metrics, _ := config.PublicURL(to.metrics)
	switch {
	case metrics == "":
		return traces
	case traces == "":
		return metrics
	}
	return traces + " and " + metrics
}

// examineTelemetry says whether anything is told to OpenTelemetry, and where.
func (a *app) examineTelemetry() []finding {
	to := a.exports()
	var found []finding
	for _, problem := range to.problems {
		found = append(found, finding{"traces", "problem", problem.Error()})
	}
	switch text := to.String(); {
	case text == "":
		return append(found, finding{"traces", "note", "no spans and metrics are sent: OTEL_EXPORTER_OTLP_ENDPOINT would say where to"})
	case telemetry.Captures(a.env(telemetry.CaptureEnv)):
		return append(found, finding{"traces", "ok", "sent to " + text + ", with messages (" + telemetry.CaptureEnv + ")"})
	default:
		return append(found, finding{"traces", "ok", "sent to " + text + ", without messages"})
	}
}

// traces reads where the executions of a run were told of, as far as its events can be read:
// what is wrong with them is told with the effects.
func (r *records) traces(ctx context.Context, id session.ID) (all []store.Traced) {
	for e, err := range r.Events(ctx, id, 0) {
		if err != nil {
			break
		}
		var t store.Traced
		if e.Kind == store.EventTrace && json.Unmarshal(e.Body, &t) == nil {
			all = append(all, t)
		}
	}
	return all
}

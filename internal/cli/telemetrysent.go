package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/internal/config"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// outcome is how it went to send one signal. The SDK keeps it to itself that a queue had no
// room, so what ended and what was taken are counted.
type outcome struct {
	hurry context.Context // ends when there is no more time to send

	mu           sync.Mutex
	ended, taken int
	going        bool  // something is being sent
	failed       error // spans: the first failure; metrics, which add up: the last
}

// export has something sent. The failure is not returned, for it is told of at the end.
func (o *outcome) export(ctx context.Context, n int, send func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.hurry, cancel)()
	o.mu.Lock()
	o.going = true
	o.mu.Unlock()
	err := send(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.going = false
	switch {
	case err == nil:
		o.taken += n
	case o.failed == nil:
		o.failed = err
	}
}

// reason says why something was not sent, without addresses and secrets.
func (o *outcome) reason() string {
	err := o.failed
	var request *url.Error // its text has the address, with what is secret in it
	switch {
	case err == nil && o.going:
		return "the collector does not answer"
	case err == nil:
		return "they came faster than the collector took them, and OTEL_BSP_MAX_QUEUE_SIZE gives them more room"
	case errors.As(err, &request) && !request.Timeout() && !errors.Is(err, context.Canceled):
		err = request.Err
	case request == nil && strings.Contains(err.Error(), "retry-able request failure"): // the SDK has no type for it
		return "the collector says to try again later"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "the collector does not answer"
	}
	return oneLine(evidence.ScrubText(err.Error()), 300)
}

// lostSpans says what of the spans was not sent to an address; empty: all was.
func (o *outcome) lostSpans(to string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken >= o.ended {
		return ""
	}
	to, _ = config.PublicURL(to)
	return fmt.Sprintf("%d of %d spans were not sent to %s: %s", o.ended-o.taken, o.ended, to, o.reason())
}

// lostMetrics is lostSpans for metrics.
func (o *outcome) lostMetrics(to string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failed == nil && !o.going {
		return ""
	}
	to, _ = config.PublicURL(to)
	return fmt.Sprintf("not all metrics were sent to %s: %s", to, o.reason())
}

// endedSpans counts the spans that are to be sent.
type endedSpans struct {
	sdktrace.SpanProcessor
	to *outcome
}

func (p endedSpans) OnEnd(s sdktrace.ReadOnlySpan) {
	if s.SpanContext().IsSampled() {
		p.to.mu.Lock()
		p.to.ended++
		p.to.mu.Unlock()
	}
	p.SpanProcessor.OnEnd(s)
}

// spansOut counts the spans that were sent.
type spansOut struct {
	sdktrace.SpanExporter
	to *outcome
}

func (e spansOut) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.to.export(ctx, len(spans), func(ctx context.Context) error { return e.SpanExporter.ExportSpans(ctx, spans) })
	return nil
}

// metricsOut exports metrics, and asks nobody where there are none: most commands have none.
type metricsOut struct {
	sdkmetric.Exporter
	to *outcome
}

func (e metricsOut) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if len(m.ScopeMetrics) == 0 {
		return nil
	}
	e.to.mu.Lock()
	e.to.failed = nil // these have those before in them
	e.to.mu.Unlock()
	e.to.export(ctx, 0, func(ctx context.Context) error { return e.Exporter.Export(ctx, m) })
	return nil
}

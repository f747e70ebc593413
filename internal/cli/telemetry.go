package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/internal/telemetry"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

const (
	lastFlush = 2 * time.Second        // how long the command waits at its end for a collector to take the rest
	lastWord  = 200 * time.Millisecond // of it, for what is being sent to say why it does not come to its end
)

// exporting is what the command sends to OpenTelemetry at work. The nil exporting sends
// nothing.
type exporting struct {
	to             exports
	traces         *sdktrace.TracerProvider // nil: none are sent
	meters         *sdkmetric.MeterProvider
	spans, metrics outcome
	hurry          context.CancelFunc

	mu   sync.Mutex
	said error // what OpenTelemetry complained of first, but for what was not sent
}

// startTelemetry sets the global providers, where the environment names a collector, and puts
// into the context what the program was started in. What is wrong with that never keeps the
// command from its work.
func (a *app) startTelemetry(ctx context.Context) (context.Context, *exporting) {
	to := a.exports()
	for _, problem := range to.problems {
		a.warnTelemetry(problem.Error())
	}
	if to.traces == "" && to.metrics == "" {
		return ctx, nil
	}
	x := &exporting{to: to}
	x.spans.hurry, x.hurry = context.WithCancel(context.Background())
	x.metrics.hurry = x.spans.hurry
	silence(otel.SetLogger)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(x.fail))
	if err := x.start(ctx); err != nil {
		x.fail(err)
	}
	if err := x.complaint(); err != nil {
		a.warnTelemetry("a setting of OpenTelemetry is not taken: " + err.Error())
	}
	ctx = telemetry.WithScrub(ctx, evidence.Scrub)
	parent := propagation.MapCarrier{"traceparent": a.env("TRACEPARENT"), "tracestate": a.env("TRACESTATE")}
	return propagation.TraceContext{}.Extract(ctx, parent), x
}

// silence sets the zero logger, which writes nothing: OpenTelemetry's own prints values of
// the environment, and the headers among them are secret. [exports] says what is wrong with
// them.
func silence[Logger any](set func(Logger)) {
	var none Logger
	set(none)
}

// warnTelemetry writes a line that may have something secret in it.
func (a *app) warnTelemetry(text string) {
	fmt.Fprintln(a.err, "warning:", printable(oneLine(evidence.ScrubText(text), 600)))
}

func (x *exporting) start(ctx context.Context) error {
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "rath"), attribute.String("service.version", version())),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // not the arguments, which have the message
	if x.to.traces != "" {
		exporter, failed := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(x.to.traces))
		if failed != nil {
			return errors.Join(err, failed)
		}
		batches := sdktrace.NewBatchSpanProcessor(spansOut{exporter, &x.spans}, x.to.spans...)
		x.traces = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(endedSpans{batches, &x.spans}), sdktrace.WithResource(of))
		otel.SetTracerProvider(x.traces)
	}
	if x.to.metrics != "" {
		exporter, failed := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(x.to.metrics))
		if failed != nil {
			return errors.Join(err, failed)
		}
		reader := sdkmetric.NewPeriodicReader(metricsOut{exporter, &x.metrics})
		x.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(of))
		otel.SetMeterProvider(x.meters)
	}
	return err
}

func (x *exporting) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.said == nil {
		x.said = err
	}
}

// complaint returns what was complained of first since it was called before: the SDK says
// a thing several times.
func (x *exporting) complaint() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	said := x.said
	x.said = nil
	return said
}

// stop sends what is left, for as long as lastFlush.
func (x *exporting) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
	defer x.hurry()
	defer time.AfterFunc(lastFlush-lastWord, x.hurry).Stop()
	var sent sync.WaitGroup
	if x.traces != nil {
		sent.Go(func() { x.end(ctx, x.traces.Shutdown) })
	}
	if x.meters != nil {
		sent.Go(func() { x.end(ctx, x.meters.Shutdown) })
	}
	all := make(chan struct{})
	go func() { sent.Wait(); close(all) }()
	select {
	case <-all:
	case <-ctx.Done():
	}
	otel.SetTracerProvider(tracenoop.NewTracerProvider())
	otel.SetMeterProvider(metricnoop.NewMeterProvider())
}

// end shuts a provider down. What time did not suffice for counts as not sent.
func (x *exporting) end(ctx context.Context, shutdown func(context.Context) error) {
	if err := shutdown(ctx); err != nil && ctx.Err() == nil {
		x.fail(err)
	}
}

// stopTelemetry tells on stderr, in a line, what of it was not sent.
func (a *app) stopTelemetry(x *exporting) {
	if x == nil {
		return
	}
	x.stop()
	var lost []string
	for _, text := range []string{x.spans.lostSpans(x.to.traces), x.metrics.lostMetrics(x.to.metrics)} {
		if text != "" {
			lost = append(lost, text)
		}
	}
	if len(lost) > 0 {
		a.warnTelemetry(strings.Join(lost, "; "))
	}
	if err := x.complaint(); err != nil {
		a.warnTelemetry("OpenTelemetry: " + err.Error())
	}
}

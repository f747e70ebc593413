package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
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
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// lastFlush is how long the command waits at its end for a collector to take the rest.
const lastFlush = 2 * time.Second

// exporting is what the command sends to OpenTelemetry at work. The nil exporting sends
// nothing.
type exporting struct {
	to     exports
	traces *sdktrace.TracerProvider // nil: none are sent
	meters *sdkmetric.MeterProvider
	mu     sync.Mutex
	failed error // the first failure
}

// startTelemetry sets the global providers, where the environment names a collector, and puts
// into the context what the program was started in. What is wrong with that never keeps the
// command from its work.
func (a *app) startTelemetry(ctx context.Context) (context.Context, *exporting) {
	to := a.exports()
	if to.problem != nil {
		fmt.Fprintln(a.err, "warning: no spans and metrics are sent:", printable(to.problem.Error()))
	}
	if to.traces == "" && to.metrics == "" {
		return ctx, nil
	}
	x := &exporting{to: to}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(x.fail))
	if err := x.start(ctx); err != nil {
		x.fail(err)
	}
	ctx = telemetry.WithScrub(ctx, evidence.Scrub)
	parent := propagation.MapCarrier{"traceparent": a.env("TRACEPARENT"), "tracestate": a.env("TRACESTATE")}
	return propagation.TraceContext{}.Extract(ctx, parent), x
}

func (x *exporting) start(ctx context.Context) error {
	of, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "rath"), attribute.String("service.version", version())),
		resource.WithTelemetrySDK(), resource.WithFromEnv()) // not the arguments, which have the message
	if x.to.traces != "" {
		exporter, failed := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(x.to.traces))
		if failed != nil {
			return failed
		}
		x.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(of))
		otel.SetTracerProvider(x.traces)
	}
	if x.to.metrics != "" {
		exporter, failed := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(x.to.metrics))
		if failed != nil {
			return failed
		}
		x.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(notEmpty{exporter})), sdkmetric.WithResource(of))
		otel.SetMeterProvider(x.meters)
	}
	return err
}

// notEmpty exports metrics, and asks nobody where there are none: most commands have none.
type notEmpty struct{ sdkmetric.Exporter }

func (e notEmpty) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if len(m.ScopeMetrics) == 0 {
		return nil
	}
	return e.Exporter.Export(ctx, m)
}

func (x *exporting) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.failed == nil {
		x.failed = err
	}
}

// stop sends what is left, for as long as lastFlush, and returns why not all was sent.
func (x *exporting) stop() error {
	if x == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastFlush)
	defer cancel()
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
		x.fail(ctx.Err())
	}
	otel.SetTracerProvider(tracenoop.NewTracerProvider())
	otel.SetMeterProvider(metricnoop.NewMeterProvider())
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failed
}

func (x *exporting) end(ctx context.Context, shutdown func(context.Context) error) {
	if err := shutdown(ctx); err != nil {
		x.fail(err)
	}
}

// stopTelemetry tells on stderr, in a line, what of it was not sent.
func (a *app) stopTelemetry(x *exporting) {
	err := x.stop()
	if err == nil {
		return
	}
	text := err.Error()
	var request *url.Error // its text has the address, with what is secret in it
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		text = "the collector does not answer"
	case errors.As(err, &request):
		text = request.Err.Error()
	}
	fmt.Fprintf(a.err, "warning: not all spans and metrics were sent to %s: %s\n", x.to, printable(oneLine(evidence.ScrubText(text), 300)))
}

// exports are the addresses that spans and metrics go to; empty: nowhere.
type exports struct {
	traces, metrics string
	problem         error // with the environment
}

// exports reads the environment as OpenTelemetry says, but that without an endpoint nothing
// is sent.
func (a *app) exports() (to exports) {
	if strings.EqualFold(a.env("OTEL_SDK_DISABLED"), "true") {
		return to
	}
	var errs [2]error
	to.traces, errs[0] = a.exportsTo("TRACES", "/v1/traces")
	to.metrics, errs[1] = a.exportsTo("METRICS", "/v1/metrics")
	if to.problem = errs[0]; to.problem == nil {
		to.problem = errs[1]
	}
	return to
}

// exportsTo returns where one signal goes.
func (a *app) exportsTo(signal, path string) (string, error) {
	const prefix = "OTEL_EXPORTER_OTLP_"
	name, address := prefix+signal+"_ENDPOINT", a.env(prefix+signal+"_ENDPOINT")
	if address == "" {
		if name, address = prefix+"ENDPOINT", a.env(prefix+"ENDPOINT"); address == "" {
			return "", nil
		}
		address = strings.TrimRight(address, "/") + path
	}
	switch exporter := "OTEL_" + signal + "_EXPORTER"; a.env(exporter) {
	case "", "otlp":
	case "none":
		return "", nil
	default:
		return "", fmt.Errorf("%s is %q, and rath knows otlp and none", exporter, a.env(exporter))
	}
	protocol := a.env(prefix + signal + "_PROTOCOL")
	if protocol == "" {
		protocol = a.env(prefix + "PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return "", fmt.Errorf("the OTLP protocol is %q, and rath speaks http/protobuf, by default on port 4318", protocol)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", fmt.Errorf("%s is no address that begins with http:// or https://", name)
	}
	return address, nil
}

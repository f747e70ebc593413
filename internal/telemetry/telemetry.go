// Package telemetry tells OpenTelemetry what runs, agents, models and tools do, by the
// conventions for generative AI. It knows the API alone: who wants spans and metrics sets the
// global providers, as the command does where an exporter is configured.
//
// Without a provider nothing is built and nothing allocated: each Start returns nil, and the
// methods of nil do nothing. What is answered from a record makes no spans of calls, for they
// did not happen.
package telemetry

import (
	"context"
	"reflect"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation.
const scope = "github.com/openrath-go/rath"

// listener is where the global providers take what is told.
type listener struct {
	tracers trace.TracerProvider // nil: it cannot be compared, so the listener is made anew each time
	meters  metric.MeterProvider
	tracer  trace.Tracer
	instruments
	silent bool // nobody listens
}

// last is the listener of the providers that were there last: a cache, and no state.
var last atomic.Pointer[listener]

// listening returns the listener, nil if nobody listens.
func listening() *listener {
	tracers, meters := otel.GetTracerProvider(), otel.GetMeterProvider()
	l := last.Load()
	if l == nil || l.tracers != tracers || l.meters != meters {
		l = newListener(tracers, meters)
		last.Store(l)
	}
	if l.silent {
		return nil
	}
	return l
}

func newListener(tracers trace.TracerProvider, meters metric.MeterProvider) *listener {
	l := &listener{silent: deaf(tracers) && deaf(meters)}
	if reflect.ValueOf(tracers).Comparable() && reflect.ValueOf(meters).Comparable() {
		l.tracers, l.meters = tracers, meters
	}
	if !l.silent {
		l.tracer = tracers.Tracer(scope)
		l.instruments = newInstruments(meters.Meter(scope))
	}
	return l
}

// deaf reports whether a provider is what the API puts in the place of one, or does nothing.
// Asking its tracers would come to the same, with an allocation for each span.
func deaf(provider any) bool {
	t := reflect.TypeOf(provider)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	api := "go.opentelemetry.io/otel/"
	return slices.Contains([]string{api + "internal/global", api + "trace/noop", api + "metric/noop"}, t.PkgPath())
}

// start begins a span with what the context says of whose it is.
func (l *listener) start(ctx context.Context, name string, kind trace.SpanKind, attrs []attribute.KeyValue) (context.Context, trace.Span) {
	in := belongs(ctx)
	if in.run != "" {
		attrs = append(attrs, keyRun.String(in.run))
	}
	if in.session != "" {
		attrs = append(attrs, keyConversation.String(in.session))
	}
	return l.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
}

// belonging says whose a span is.
type belonging struct{ run, session string }

type belongingKey struct{}

func belongs(ctx context.Context) belonging {
	b, _ := ctx.Value(belongingKey{}).(belonging)
	return b
}

func (b belonging) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, belongingKey{}, b)
}

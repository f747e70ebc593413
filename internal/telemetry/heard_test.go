package telemetry_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
)

// heard is what the global providers of a test were told.
type heard struct {
	spans  *tracetest.InMemoryExporter
	reader *sdkmetric.ManualReader
}

// listen sets the global providers until the test ends, or deafen is called.
func listen(t testing.TB, options ...sdktrace.TracerProviderOption) *heard {
	h := &heard{tracetest.NewInMemoryExporter(), sdkmetric.NewManualReader()}
	otel.SetTracerProvider(sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(h.spans))...))
	otel.SetMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(h.reader)))
	t.Cleanup(deafen)
	return h
}

func deafen() {
	otel.SetTracerProvider(tracenoop.NewTracerProvider())
	otel.SetMeterProvider(metricnoop.NewMeterProvider())
}

// tree writes the spans as they lie in each other, with the kinds of their errors. Those that
// may have begun in any order are sorted by name.
func (h *heard) tree() string {
	spans := h.spans.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		return cmp.Or(a.StartTime.Compare(b.StartTime), cmp.Compare(a.Name, b.Name))
	})
	var b strings.Builder
	var write func(parent trace.SpanID, depth int)
	write = func(parent trace.SpanID, depth int) {
		for _, s := range spans {
			if s.Parent.SpanID() != parent {
				continue
			}
			fmt.Fprint(&b, strings.Repeat("  ", depth), s.Name)
			if failed := of(s.Attributes, "error.type"); failed != "" {
				fmt.Fprint(&b, " !", failed)
			}
			fmt.Fprintln(&b)
			write(s.SpanContext.SpanID(), depth+1)
		}
	}
	write(trace.SpanID{}, 0)
	return b.String()
}

// named returns the spans of a name, in the order in which they ended.
func (h *heard) named(name string) (all []tracetest.SpanStub) {
	for _, s := range h.spans.GetSpans() {
		if s.Name == name {
			all = append(all, s)
		}
	}
	return all
}

// of returns an attribute as text, empty if there is none.
func of(attrs []attribute.KeyValue, key string) string {
	for _, kv := range attrs {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

// attributes writes a span's attributes but for those named, which differ each time.
func attributes(s tracetest.SpanStub, but ...string) (all []string) {
	for _, kv := range s.Attributes {
		if !slices.Contains(but, string(kv.Key)) {
			all = append(all, string(kv.Key)+"="+kv.Value.String())
		}
	}
	slices.Sort(all)
	return all
}

// metrics writes how often each histogram was told something, and the sum of tokens.
func (h *heard) metrics(t *testing.T) (all []string) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := h.reader.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					all = append(all, fmt.Sprint(m.Name, " ", m.Unit, " ", text(p.Attributes), " x", p.Count))
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					all = append(all, fmt.Sprint(m.Name, " ", m.Unit, " ", text(p.Attributes), " x", p.Count, " sum ", p.Sum))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func text(s attribute.Set) string {
	var all []string
	for _, kv := range s.ToSlice() {
		all = append(all, strings.TrimPrefix(string(kv.Key), "gen_ai.")+"="+kv.Value.String())
	}
	return strings.Join(all, ",")
}

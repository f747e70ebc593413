package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// instruments are the histograms of the conventions.
type instruments struct {
	duration   metric.Float64Histogram
	firstChunk metric.Float64Histogram
	tokens     metric.Int64Histogram
}

// newInstruments makes them. What a meter refuses it replaces with one that does nothing.
func newInstruments(m metric.Meter) (i instruments) {
	seconds := func(name, text string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(boundsSeconds...))
		if err != nil {
			otel.Handle(err)
		}
		return h
	}
	i.duration = seconds(metricDuration, "GenAI operation duration.")
	i.firstChunk = seconds(metricFirstChunk, "Time until the first piece of a streamed reply.")
	var err error
	i.tokens, err = m.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(boundsTokens...))
	if err != nil {
		otel.Handle(err)
	}
	return i
}

// took records how long an operation was under way.
func (i instruments) took(ctx context.Context, d time.Duration, attrs ...attribute.KeyValue) {
	i.duration.Record(ctx, d.Seconds(), metric.WithAttributes(attrs...))
}

// used records tokens.
func (i instruments) used(ctx context.Context, kind string, n int64, attrs []attribute.KeyValue) {
	attrs = append(attrs[:len(attrs):len(attrs)], keyTokenType.String(kind))
	i.tokens.Record(ctx, n, metric.WithAttributes(attrs...))
}

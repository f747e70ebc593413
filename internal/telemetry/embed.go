package telemetry

import (
	"context"
	"time"

	"github.com/openrath-go/rath/llm"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Embedder returns an embedder that tells of each call of another. Servers' token counts are
// not known of embedders.
func Embedder(e llm.Embedder) llm.Embedder { return embedder{e} }

type embedder struct{ llm.Embedder }

func (e embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	l := listening()
	if l == nil {
		return e.Embedder.Embed(ctx, texts)
	}
	provider, name := split(e.String())
	attrs := []attribute.KeyValue{keyOperation.String(opEmbeddings), keyProvider.String(provider), keyModel.String(name)}
	begun := time.Now()
	ctx, span := l.start(ctx, opEmbeddings+" "+name, trace.SpanKindClient, attrs[:len(attrs):len(attrs)])
	vectors, err := e.Embedder.Embed(ctx, texts)
	if len(vectors) > 0 {
		span.SetAttributes(keyDimensions.Int(len(vectors[0])))
	}
	c := Chat{listener: l, ctx: ctx, span: span, begun: begun}
	c.end(attrs, err)
	return vectors, err
}

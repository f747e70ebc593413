package telemetry

import (
	"context"
	"iter"
	"strings"
	"time"

	"github.com/openrath-go/rath/llm"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Chat is a call to a model under way. Nobody listens to the nil Chat. It is for one
// goroutine.
type Chat struct {
	*listener
	ctx    context.Context
	span   trace.Span
	attrs  []attribute.KeyValue // of the metrics
	stream bool
	begun  time.Time
	first  time.Duration // until the first piece of the reply; 0: none came
}

// StartChat begins the span of a call to a model, to be ended with End. What the model does
// with the context that it returns is within the span.
func StartChat(ctx context.Context, model llm.Model, req *llm.Request) (context.Context, *Chat) {
	l := listening()
	if l == nil {
		return ctx, nil
	}
	provider, name := split(model.String())
	c := &Chat{listener: l, stream: !req.Params.NoStream, begun: time.Now()}
	c.attrs = []attribute.KeyValue{keyOperation.String(opChat), keyProvider.String(provider), keyModel.String(name)}
	ctx, c.span = l.start(ctx, opChat+" "+name, trace.SpanKindClient, c.attrs[:len(c.attrs):len(c.attrs)])
	c.ctx = ctx
	if c.span.IsRecording() {
		c.span.SetAttributes(requested(req.Params)...)
		c.asked(req)
	}
	return ctx, c
}

// split takes a model's URL apart. A fallback's models are its name.
func split(url string) (provider, name string) {
	provider, name, found := strings.Cut(url, ":")
	if !found {
		return errorOther, url
	}
	if name == "" {
		name = provider // "offline:" has but one
	}
	return provider, name
}

// requested are the settings of a request.
func requested(p llm.Params) (attrs []attribute.KeyValue) {
	add := func(given bool, kv func() attribute.KeyValue) {
		if given {
			attrs = append(attrs, kv())
		}
	}
	limit := p.MaxTokens
	if p.MaxCompletionTokens != 0 {
		limit = p.MaxCompletionTokens
	}
	add(!p.NoStream, func() attribute.KeyValue { return keyStream.Bool(true) })
	add(limit != 0, func() attribute.KeyValue { return keyMaxTokens.Int(limit) })
	add(p.Temperature != nil, func() attribute.KeyValue { return keyTemperature.Float64(*p.Temperature) })
	add(p.TopP != nil, func() attribute.KeyValue { return keyTopP.Float64(*p.TopP) })
	add(p.FrequencyPenalty != nil, func() attribute.KeyValue { return keyFrequency.Float64(*p.FrequencyPenalty) })
	add(p.PresencePenalty != nil, func() attribute.KeyValue { return keyPresence.Float64(*p.PresencePenalty) })
	add(p.Seed != nil, func() attribute.KeyValue { return keySeed.Int64(*p.Seed) })
	add(p.N > 1, func() attribute.KeyValue { return keyChoices.Int(p.N) })
	add(len(p.Stop) > 0, func() attribute.KeyValue { return keyStops.StringSlice(p.Stop) })
	add(strings.HasPrefix(p.ResponseFormat.Type, "json"), func() attribute.KeyValue { return keyOutputType.String("json") })
	return attrs
}

// Watch passes the deltas of the reply on, and notes when it began and what failed before.
func (c *Chat) Watch(deltas iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Delta, error] {
	if c == nil {
		return deltas
	}
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range deltas {
			switch {
			case err != nil:
			case d.Attempt != nil:
				c.failed(*d.Attempt)
			case c.first == 0:
				c.first = time.Since(c.begun)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// failed notes an attempt that was made again.
func (c *Chat) failed(a llm.Attempt) {
	attrs := []attribute.KeyValue{keyAttempt.Int(a.Number), keyAttemptWait.Float64(a.Wait.Seconds())}
	if a.Error != nil {
		attrs = append(attrs, keyErrorType.String(errorType(a.Error)))
	}
	c.span.AddEvent("rath.attempt.failed", trace.WithAttributes(attrs...))
}

// End ends the call with its reply, or with what came of it and the error.
func (c *Chat) End(reply llm.Reply, err error) {
	if c == nil {
		return
	}
	attrs := c.attrs
	if provider, name := split(reply.Model); attrs[1].Value.AsString() == "fallback" && provider != errorOther {
		attrs[1], reply.Model = keyProvider.String(provider), name // the one that answered
	}
	if reply.Model != "" {
		attrs = append(attrs, keyAnswered.String(reply.Model))
	}
	if c.span.IsRecording() {
		c.span.SetAttributes(answered(reply)...)
		c.span.SetAttributes(attrs[1:]...)
		c.replied(reply, err)
	}
	if c.first > 0 && c.stream {
		c.span.SetAttributes(keyFirstChunk.Float64(c.first.Seconds()))
		c.firstChunk.Record(c.ctx, c.first.Seconds(), metric.WithAttributes(attrs...))
	}
	if counted(reply) {
		c.used(c.ctx, "input", reply.Usage.Input, attrs)
		c.used(c.ctx, "output", reply.Usage.Output, attrs)
	}
	c.end(attrs, err)
}

func (c *Chat) end(attrs []attribute.KeyValue, err error) {
	if err != nil {
		kind := errorType(err)
		fail(c.span, kind, err)
		attrs = append(attrs, keyErrorType.String(kind))
	}
	c.took(c.ctx, time.Since(c.begun), attrs...)
	c.span.End()
}

// counted reports whether a server said how many tokens a reply was.
func counted(r llm.Reply) bool { return !r.Cached && r.Usage.Unreported == 0 }

// answered tells of a reply.
func answered(r llm.Reply) (attrs []attribute.KeyValue) {
	if r.Stop != "" {
		attrs = append(attrs, keyFinish.StringSlice([]string{string(r.Stop)}))
	}
	if r.ID != "" {
		attrs = append(attrs, keyReplyID.String(r.ID))
	}
	if r.Cached {
		attrs = append(attrs, keyCached.Bool(true))
	}
	if !counted(r) {
		return attrs
	}
	attrs = append(attrs, keyInput.Int64(r.Usage.Input), keyOutput.Int64(r.Usage.Output))
	for key, n := range map[attribute.Key]int64{
		keyCacheRead: r.Usage.CacheRead, keyCacheWrite: r.Usage.CacheWrite, keyReasoning: r.Usage.Reasoning,
	} {
		if n != 0 {
			attrs = append(attrs, key.Int64(n))
		}
	}
	return attrs
}

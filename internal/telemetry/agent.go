package telemetry

import (
	"context"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Agent is a Forward of an agent under way. Nobody listens to the nil Agent.
type Agent struct{ span trace.Span }

// StartAgent begins the span of an agent at work, to be ended with End. The agent's tokens are
// those of the calls within: it has none of its own, so that sums count each once.
func StartAgent(ctx context.Context, name, description string, model llm.Model) (context.Context, *Agent) {
	l := listening()
	if l == nil {
		return ctx, nil
	}
	provider, asked := split(model.String())
	attrs := []attribute.KeyValue{keyOperation.String(opAgent), keyProvider.String(provider), keyModel.String(asked), keyAgent.String(name)}
	if description != "" {
		attrs = append(attrs, keyAgentText.String(description))
	}
	ctx, span := l.start(ctx, opAgent+" "+name, trace.SpanKindInternal, attrs)
	return ctx, &Agent{span}
}

// Making says which session the agent makes: it is the conversation of the agent's span, and
// of all that begins in the context that it returns.
func (a *Agent) Making(ctx context.Context, id session.ID) context.Context {
	if a == nil {
		return ctx
	}
	b := belonging{run: belongs(ctx).run, session: id.String()}
	a.span.SetAttributes(keyConversation.String(b.session))
	return b.in(ctx)
}

// End ends the Forward, with its error if it has one.
func (a *Agent) End(err error) {
	if a == nil {
		return
	}
	if err != nil {
		fail(a.span, errorType(err), err)
	}
	a.span.End()
}

package llm

import "context"

type overrideKey struct{}

// WithModel returns a context in which agents use m instead of their own model, in
// whatever workflow they are. The innermost WithModel counts; a nil m gives the agents
// their own models back.
func WithModel(ctx context.Context, m Model) context.Context {
	return context.WithValue(ctx, overrideKey{}, m)
}

// Override returns the model that WithModel put into the context, or else m.
func Override(ctx context.Context, m Model) Model {
	if over, _ := ctx.Value(overrideKey{}).(Model); over != nil {
		return over
	}
	return m
}

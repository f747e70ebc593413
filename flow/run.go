package flow

import "context"

type runKey struct{}

// WithRun returns a context whose sessions say that they belong to a run.
func WithRun(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, runKey{}, id)
}

// RunOf returns the run that a context belongs to, empty if none.
func RunOf(ctx context.Context) string {
	id, _ := ctx.Value(runKey{}).(string)
	return id
}

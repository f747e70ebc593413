package tool

import (
	"context"
	"encoding/json"
)

// Run is what a tool does: see [Tool.Run].
type Run = func(ctx context.Context, arguments json.RawMessage) (Result, error)

// With returns the same tool with another Run, made of its own: so a hook can do something
// before and after each call, change its arguments or its result, or answer in its place.
// It runs within the call's effect, so a call that is answered from a record passes it by.
func (t *Tool) With(hook func(Run) Run) *Tool {
	return &Tool{
		Name: t.Name, Description: t.Description, Schema: t.Schema, Class: t.Class, Locks: t.Locks,
		Timeout: t.Timeout, MaxOutput: t.MaxOutput, Approval: t.Approval, Final: t.Final, Origin: t.Origin,
		Run: hook(t.Run),
	}
}

// With returns the tools with a hook around each.
func (s Set) With(hook func(*Tool) *Tool) Set {
	out := make(Set, len(s))
	for i, t := range s {
		out[i] = hook(t)
	}
	return out
}

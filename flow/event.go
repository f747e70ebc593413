package flow

import (
	"context"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Event is something that happened in a workflow: one of the types below, or one that
// a workflow of yours emits. Embed [At] to make one.
type Event interface {
	// Where says which workflow it happened in, and which session that was making.
	Where() At
}

// At is the place of an event.
type At struct {
	Path    string     `json:"path"`
	Session session.ID `json:"session"`
}

// Where returns the place.
func (a At) Where() At { return a }

// The events of an agent. Those of one agent come in order; agents that run in parallel
// mix.
type (
	// Begin opens a session; Draft has its id, its parents and what it begins with.
	Begin struct {
		At
		Draft session.Session
	}
	// Delta is a piece of the model's reply.
	Delta struct {
		At
		llm.Delta
	}
	// Reply is a chunk that the model has finished.
	Reply struct {
		At
		Chunk session.Chunk
		Usage session.Usage
		Stop  llm.Stop
	}
	// Call is a tool call that begins.
	Call struct {
		At
		Call session.Call
	}
	// Result is a tool call's result. Calls that run in parallel finish in any order.
	Result struct {
		At
		Chunk  session.Chunk
		Took   time.Duration
		Change tool.Change // what it did to the files of the workspace
	}
	// Added is the results of one reply's calls, in the order in which the session has
	// them.
	Added struct {
		At
		Chunks []session.Chunk
	}
	// End closes a session. With an error it is the session as far as it got.
	End struct {
		At
		Session session.Session
		Err     error
	}
)

// Observer is told of every event below the context that carries it, at once and in
// the goroutine where it happens: it must be quick and safe for concurrent use.
type Observer func(Event)

type observerKey struct{}

// Observe returns a context whose events go to o, and then to the observers already
// there.
func Observe(ctx context.Context, o Observer) context.Context {
	if outer := observerOf(ctx); outer != nil {
		inner := o
		o = func(e Event) {
			inner(e)
			outer(e)
		}
	}
	return context.WithValue(ctx, observerKey{}, o)
}

func observerOf(ctx context.Context) Observer {
	o, _ := ctx.Value(observerKey{}).(Observer)
	return o
}

// Emit tells the context's observers of an event.
func Emit(ctx context.Context, e Event) {
	if o := observerOf(ctx); o != nil {
		o(e)
	}
}

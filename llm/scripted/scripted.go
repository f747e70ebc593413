// Package scripted is a model that gives replies written beforehand, in Go or in a JSON
// file: for tests, demonstrations and replays of a situation.
//
// Next: [github.com/openrath-go/rath/llm/offline].
package scripted

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
)

// Reply is one scripted answer: text and calls, or an error. The zero Reply is an empty
// answer.
type Reply struct {
	Text      string
	Reasoning string
	Extra     string // the provider's JSON for the reasoning
	Calls     []session.Call
	Usage     *session.Usage // nil: the server reported none
	Stop      llm.Stop       // empty: tool_calls if there are calls, else stop
	Delay     time.Duration  // before the answer
	Error     *llm.Error     // in place of an answer
}

// Call makes a tool call with arguments in JSON. Its id is given when it is sent.
func Call(name, arguments string) session.Call {
	return session.Call{Name: name, Arguments: arguments}
}

// Model gives its replies one after the other, whoever asks. It is safe for concurrent
// use.
type Model struct {
	name string
	next func(*llm.Request) (Reply, bool)
}

// New makes a model that gives each reply once, in order.
func New(replies ...Reply) *Model {
	var mu sync.Mutex
	i := 0
	return &Model{name: "scripted:", next: func(*llm.Request) (Reply, bool) {
		mu.Lock()
		defer mu.Unlock()
		if i == len(replies) {
			return Reply{}, false
		}
		i++
		return replies[i-1], true
	}}
}

// Func makes a model whose replies depend on the request. fn must be safe for concurrent
// use.
func Func(fn func(*llm.Request) Reply) *Model {
	return &Model{name: "scripted:", next: func(req *llm.Request) (Reply, bool) { return fn(req), true }}
}

// String returns the model's URL.
func (m *Model) String() string { return m.name }

// Stream yields the next reply. When there is none left, that is an error.
func (m *Model) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		reply, ok := m.next(req)
		if !ok {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrBadRequest, Model: m.name, Message: "the script has no reply left"})
			return
		}
		if err := wait(ctx, reply.Delay); err != nil {
			yield(llm.Delta{}, llm.AsError(m.name, err))
			return
		}
		if reply.Error != nil {
			failed := *reply.Error
			failed.Model = m.name
			yield(llm.Delta{}, &failed)
			return
		}
		m.play(ctx, reply, req, yield)
	}
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// piece is how much text comes in one delta.
const piece = 64

func (m *Model) play(ctx context.Context, r Reply, req *llm.Request, yield func(llm.Delta, error) bool) {
	send := func(d llm.Delta) bool {
		if err := ctx.Err(); err != nil {
			yield(llm.Delta{}, llm.AsError(m.name, err))
			return false
		}
		return yield(d, nil)
	}
	if r.Reasoning != "" || r.Extra != "" {
		if !send(llm.Delta{Reasoning: r.Reasoning, Extra: r.Extra}) {
			return
		}
	}
	for text := r.Text; text != ""; {
		n := cut(text, piece)
		if !send(llm.Delta{Text: text[:n]}) {
			return
		}
		text = text[n:]
	}
	for i, c := range r.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprintf("call_%d_%d", req.Messages.Len(), i)
		}
		if !send(llm.Delta{Call: &llm.CallDelta{Index: i, ID: c.ID, Name: c.Name, Arguments: c.Arguments, Extra: c.Extra}}) {
			return
		}
	}
	send(llm.Delta{Usage: r.Usage, Stop: r.stop()})
}

func (r Reply) stop() llm.Stop {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return llm.StopCalls
	}
	return llm.StopEnd
}

// cut returns where a text can be cut after about n bytes without parting a character.
func cut(text string, n int) int {
	if len(text) <= n {
		return len(text)
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return max(n, 1)
}

package llm

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/session"
)

// Reply is a model's whole answer.
type Reply struct {
	Chunk    session.Chunk `json:"chunk"` // an assistant chunk
	Stop     Stop          `json:"stop,omitempty"`
	Usage    session.Usage `json:"usage"`
	ID       string        `json:"id,omitempty"`
	Model    string        `json:"model,omitempty"`
	Attempts []Attempt     `json:"attempts,omitempty"`
	Cached   bool          `json:"cached,omitempty"` // it comes from a Cache; then Usage is zero
}

// Collect reads a stream to its end. With an error it returns what had come until
// then. A stream that ends without a reason to stop was cut: that is an error too.
//
// Usage counts the call itself: one call, unreported where the server gave no token
// counts, unpriced where it gave no price.
func Collect(deltas iter.Seq2[Delta, error]) (Reply, error) {
	var c collector
	for d, err := range deltas {
		if err != nil {
			return c.reply(), err
		}
		c.add(d)
	}
	if c.stop == "" {
		return c.reply(), &Error{Kind: ErrMalformed, Message: "the stream ended before the reply did"}
	}
	return c.reply(), nil
}

type collector struct {
	parts    []session.Part
	text     strings.Builder // of the open part, the last of parts
	calls    []session.Call
	args     []*strings.Builder
	indices  []int
	usage    *session.Usage
	stop     Stop
	id       string
	model    string
	attempts []Attempt
	cached   bool
	open     bool // the last part takes more text
}

func (c *collector) add(d Delta) {
	c.grow(session.PartReasoning, d.Reasoning)
	if d.Extra != "" {
		c.complete(d.Extra)
	}
	c.grow(session.PartText, d.Text)
	if d.Part != nil {
		c.closePart()
		c.parts = append(c.parts, *d.Part)
	}
	if d.Call != nil {
		c.addCall(*d.Call)
	}
	if d.Usage != nil {
		c.usage = plausible(*d.Usage)
	}
	if d.Attempt != nil {
		c.attempts = append(c.attempts, *d.Attempt)
	}
	c.stop, c.cached = either(d.Stop, c.stop), c.cached || d.Cached
	c.id, c.model = either(c.id, d.ID), either(c.model, d.Model)
}

// grow adds text to the open part, or opens one of the kind.
func (c *collector) grow(kind session.PartKind, text string) {
	if text == "" {
		return
	}
	if !c.open || c.parts[len(c.parts)-1].Kind != kind {
		c.closePart()
		c.parts = append(c.parts, session.Part{Kind: kind})
		c.open = true
	}
	c.text.WriteString(text)
}

// complete ends the open reasoning with the provider's JSON.
func (c *collector) complete(extra string) {
	if !c.open || c.parts[len(c.parts)-1].Kind != session.PartReasoning {
		c.closePart()
		c.parts = append(c.parts, session.Part{Kind: session.PartReasoning})
		c.open = true
	}
	c.parts[len(c.parts)-1].Extra = extra
	c.closePart()
}

func (c *collector) closePart() {
	if c.open {
		c.parts[len(c.parts)-1].Text = c.text.String()
		c.text.Reset()
		c.open = false
	}
}

func (c *collector) addCall(d CallDelta) {
	i := len(c.indices) - 1
	for i >= 0 && c.indices[i] != d.Index {
		i--
	}
	if i < 0 {
		i = len(c.indices)
		c.indices = append(c.indices, d.Index)
		c.calls = append(c.calls, session.Call{})
		c.args = append(c.args, &strings.Builder{})
	}
	call := &c.calls[i]
	call.ID, call.Name, call.Extra = either(call.ID, d.ID), either(call.Name, d.Name), either(call.Extra, d.Extra)
	c.args[i].WriteString(d.Arguments)
}

func (c *collector) reply() Reply {
	c.closePart()
	for i, b := range c.args {
		c.calls[i].Arguments = b.String()
	}
	nameCalls(c.calls)
	usage := session.Usage{Unreported: 1, Cost: session.Cost{Unpriced: 1}}
	if c.usage != nil {
		usage = *c.usage
	}
	usage.Calls = 1
	if c.cached {
		usage = session.Usage{}
	}
	return Reply{
		Chunk: session.Assistant(c.parts, c.calls...),
		Stop:  c.stop, Usage: usage, ID: c.id, Model: c.model, Attempts: c.attempts, Cached: c.cached,
	}
}

// nameCalls gives an id to calls that came without one, or with one that is taken: a
// result must name its call.
func nameCalls(calls []session.Call) {
	taken := map[string]bool{}
	for i := range calls {
		id := calls[i].ID
		for n := i; id == "" || taken[id]; n++ {
			id = "call_" + strconv.Itoa(n)
		}
		calls[i].ID, taken[id] = id, true
	}
}

// Deltas yields the reply again as a model would have streamed it, text whole.
func (r Reply) Deltas() iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		for i := range r.Attempts {
			if !yield(Delta{Attempt: &r.Attempts[i]}, nil) {
				return
			}
		}
		for p := range r.Chunk.Parts() {
			if !yield(partDelta(p), nil) {
				return
			}
		}
		i := 0
		for call := range r.Chunk.Calls() {
			if !yield(Delta{Call: &CallDelta{i, call.ID, call.Name, call.Arguments, call.Extra}}, nil) {
				return
			}
			i++
		}
		last := Delta{Stop: r.Stop, ID: r.ID, Model: r.Model, Cached: r.Cached}
		if r.Usage.Unreported == 0 {
			last.Usage = &r.Usage
		}
		yield(last, nil)
	}
}

func partDelta(p session.Part) Delta {
	if p.Kind == session.PartText {
		return Delta{Text: p.Text}
	}
	return Delta{Part: &p}
}

func either[S ~string](a, b S) S {
	if a != "" {
		return a
	}
	return b
}

// String summarises the reply for logs.
func (r Reply) String() string {
	return fmt.Sprintf("%d bytes of text, %d calls, stop %q", len(r.Chunk.Text()), r.Chunk.NumCalls(), r.Stop)
}

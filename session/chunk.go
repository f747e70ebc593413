package session

import (
	"iter"
	"slices"
	"strings"
)

// Kind says who speaks in a [Chunk].
type Kind uint8

// The kinds of chunk.
const (
	KindSystem Kind = iota
	KindUser
	KindAssistant
	KindToolResult
)

var kinds = [...]string{"system", "user", "assistant", "tool_result"}

// String returns the kind's name on the wire.
func (k Kind) String() string { return name(kinds[:], int(k)) }

// MarshalText implements [encoding.TextMarshaler].
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText refuses names it does not know.
func (k *Kind) UnmarshalText(text []byte) error { return parse(k, kinds[:], text, "chunk kind") }

// Outcome says how a tool call ended.
type Outcome uint8

// The outcomes of a tool call.
const (
	OK          Outcome = iota // the tool answered
	Failed                     // the tool, or the check of its arguments, failed
	Denied                     // a policy or a person refused the call
	Interrupted                // the run ended before the tool answered
)

var outcomes = [...]string{"ok", "failed", "denied", "interrupted"}

// String returns the outcome's name on the wire.
func (o Outcome) String() string { return name(outcomes[:], int(o)) }

// MarshalText implements [encoding.TextMarshaler].
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText refuses names it does not know.
func (o *Outcome) UnmarshalText(text []byte) error { return parse(o, outcomes[:], text, "outcome") }

// Call is a model's request to run a tool.
type Call struct {
	ID        string
	Name      string
	Arguments string // as the model wrote them: usually JSON, not always
	Extra     string // the provider's own JSON, kept to the byte
}

// Answer says which call a tool result answers, and how it ended.
type Answer struct {
	CallID  string
	Tool    string
	Outcome Outcome
}

// Chunk is one immutable row of a transcript: a speaker, ordered parts, and for an
// assistant the tool calls, for a tool result the call it answers. The zero Chunk
// is an empty system chunk.
type Chunk struct{ c *content }

type content struct {
	kind   Kind
	parts  []Part
	calls  []Call
	answer Answer
}

var emptyContent content

// System makes an instruction.
func System(parts ...Part) Chunk { return newChunk(content{kind: KindSystem, parts: parts}) }

// User makes a user's message.
func User(parts ...Part) Chunk { return newChunk(content{kind: KindUser, parts: parts}) }

// Assistant makes a model's message with the tools that it calls.
func Assistant(parts []Part, calls ...Call) Chunk {
	return newChunk(content{kind: KindAssistant, parts: parts, calls: calls})
}

// ToolResult makes the answer to a call.
func ToolResult(answer Answer, parts ...Part) Chunk {
	return newChunk(content{kind: KindToolResult, parts: parts, answer: answer})
}

// newChunk copies what the caller may still change. Text that is not UTF-8 has its
// bad bytes replaced by U+FFFD.
func newChunk(c content) Chunk {
	c.parts, c.calls = slices.Clone(c.parts), slices.Clone(c.calls)
	for i, p := range c.parts {
		c.parts[i] = p.valid()
	}
	for i, call := range c.calls {
		c.calls[i] = Call{validUTF8(call.ID), validUTF8(call.Name), validUTF8(call.Arguments), validUTF8(call.Extra)}
	}
	c.answer.CallID, c.answer.Tool = validUTF8(c.answer.CallID), validUTF8(c.answer.Tool)
	return Chunk{&c}
}

func (c Chunk) get() *content {
	if c.c == nil {
		return &emptyContent
	}
	return c.c
}

// Kind says who speaks.
func (c Chunk) Kind() Kind { return c.get().kind }

// Parts yields the content in order.
func (c Chunk) Parts() iter.Seq[Part] { return slices.Values(c.get().parts) }

// Calls yields the tool calls of an assistant chunk in order.
func (c Chunk) Calls() iter.Seq[Call] { return slices.Values(c.get().calls) }

// NumCalls returns how many tool calls the chunk carries.
func (c Chunk) NumCalls() int { return len(c.get().calls) }

// Answer says which call a tool result answers; it is zero for other kinds.
func (c Chunk) Answer() Answer { return c.get().answer }

// Text joins the text parts; reasoning is left out.
func (c Chunk) Text() string {
	parts := c.get().parts
	if len(parts) == 1 && parts[0].Kind == PartText {
		return parts[0].Text
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Kind == PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// Equal reports whether two chunks have the same content.
func (c Chunk) Equal(d Chunk) bool {
	a, b := c.get(), d.get()
	return a == b || a.kind == b.kind && a.answer == b.answer &&
		slices.Equal(a.parts, b.parts) && slices.Equal(a.calls, b.calls)
}

package session

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
)

// The wire form: members in RFC 8785 order, empty ones left out, no numbers, so that
// marshalling it yields canonical JSON at once (docs/formats/digest.md).
type (
	wireChunk struct {
		Answer *wireAnswer `json:"answer,omitempty"`
		Calls  []wireCall  `json:"calls,omitempty"`
		Kind   Kind        `json:"kind"`
		Parts  []wirePart  `json:"parts,omitempty"`
	}
	wireAnswer struct {
		CallID  string  `json:"call_id"`
		Outcome Outcome `json:"outcome"`
		Tool    string  `json:"tool"`
	}
	wireCall struct {
		Arguments string `json:"arguments"`
		Extra     string `json:"extra,omitempty"`
		ID        string `json:"id"`
		Name      string `json:"name"`
	}
	wirePart struct {
		Data  string   `json:"data,omitempty"`
		Extra string   `json:"extra,omitempty"`
		Kind  PartKind `json:"kind"`
		MIME  string   `json:"mime,omitempty"`
		Name  string   `json:"name,omitempty"`
		Text  string   `json:"text,omitempty"`
		URL   string   `json:"url,omitempty"`
	}
)

// MarshalJSON returns the chunk's canonical JSON (RFC 8785).
func (c Chunk) MarshalJSON() ([]byte, error) {
	v := c.get()
	w := wireChunk{Kind: v.kind}
	for _, p := range v.parts {
		w.Parts = append(w.Parts, wirePart{
			Data:  base64.StdEncoding.EncodeToString([]byte(p.Data)),
			Extra: p.Extra, Kind: p.Kind, MIME: p.MIME, Name: p.Name, Text: p.Text, URL: p.URL,
		})
	}
	for _, call := range v.calls {
		w.Calls = append(w.Calls, wireCall{Arguments: call.Arguments, Extra: call.Extra, ID: call.ID, Name: call.Name})
	}
	if v.kind == KindToolResult {
		w.Answer = &wireAnswer{v.answer.CallID, v.answer.Outcome, v.answer.Tool}
	}
	data, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode chunk: %w", err)
	}
	return data, nil
}

// UnmarshalJSON reads a chunk. It refuses unknown and duplicate members, unknown
// kinds, and members that do not belong to the kind, so that what it accepts it can
// write back without loss.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	var w wireChunk
	if err := json.Unmarshal(data, &w, json.RejectUnknownMembers(true)); err != nil {
		return fmt.Errorf("decode chunk: %w", err)
	}
	if (w.Answer != nil) != (w.Kind == KindToolResult) {
		return fmt.Errorf("decode chunk: a tool_result, and nothing else, has an answer: kind is %s", w.Kind)
	}
	if len(w.Calls) > 0 && w.Kind != KindAssistant {
		return fmt.Errorf("decode chunk: kind %s has calls", w.Kind)
	}
	v := content{kind: w.Kind}
	for i, p := range w.Parts {
		raw, err := base64.StdEncoding.Strict().DecodeString(p.Data)
		if err != nil {
			return fmt.Errorf("decode chunk: data of part %d: %w", i, err)
		}
		v.parts = append(v.parts, Part{p.Kind, p.Text, p.Name, p.MIME, p.URL, string(raw), p.Extra})
	}
	for _, call := range w.Calls {
		v.calls = append(v.calls, Call{call.ID, call.Name, call.Arguments, call.Extra})
	}
	if w.Answer != nil {
		v.answer = Answer{w.Answer.CallID, w.Answer.Tool, w.Answer.Outcome}
	}
	v.parts, v.calls = slices.Clip(v.parts), slices.Clip(v.calls)
	*c = Chunk{&v}
	return nil
}

// Digest is the SHA-256 of the chunk's canonical JSON: its content address.
func (c Chunk) Digest() Digest { return sha256.Sum256(c.canonical()) }

// canonical never fails: every string in a chunk is valid UTF-8 by construction.
func (c Chunk) canonical() []byte {
	data, err := c.MarshalJSON()
	if err != nil {
		panic(err)
	}
	return data
}

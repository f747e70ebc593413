package llm

import (
	"encoding/json"
	"iter"

	"github.com/openrath-go/rath/session"
)

// Request is what a model is asked. It is not changed by the model.
type Request struct {
	Prompt   session.Transcript // the agent's own instructions and notes, in front
	Messages session.Transcript // the session's chunks
	Tools    []Tool
	Params   Params
}

// Tool is a function as the model sees it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
}

// All yields the prompt and then the messages.
func (r *Request) All() iter.Seq[session.Chunk] {
	return func(yield func(session.Chunk) bool) {
		for _, c := range r.Prompt.All() {
			if !yield(c) {
				return
			}
		}
		for _, c := range r.Messages.All() {
			if !yield(c) {
				return
			}
		}
	}
}

// MarshalJSON identifies the request for a journal: transcripts by length and digest,
// the rest in full.
func (r *Request) MarshalJSON() ([]byte, error) {
	type content struct {
		Len    int            `json:"len"`
		Digest session.Digest `json:"digest"`
	}
	return json.Marshal(struct {
		Prompt   content `json:"prompt"`
		Messages content `json:"messages"`
		Tools    []Tool  `json:"tools,omitempty"`
		Params   Params  `json:"params"`
	}{
		content{r.Prompt.Len(), r.Prompt.Digest()},
		content{r.Messages.Len(), r.Messages.Digest()},
		r.Tools, r.Params,
	})
}

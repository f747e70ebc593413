package llm

import (
	"time"

	"github.com/openrath-go/rath/session"
)

// Delta is one piece of a reply. Pieces of text, and of reasoning, that follow each
// other belong together.
type Delta struct {
	Text      string        `json:"text,omitempty"`
	Reasoning string        `json:"reasoning,omitempty"`
	Extra     string        `json:"extra,omitempty"` // provider's JSON that completes the reasoning so far, a signature say
	Part      *session.Part `json:"part,omitempty"`  // a part that comes whole
	Call      *CallDelta    `json:"call,omitempty"`

	Usage *session.Usage `json:"usage,omitempty"` // so far; the last one counts
	Stop  Stop           `json:"stop,omitempty"`
	ID    string         `json:"id,omitempty"`    // the server's name for the reply
	Model string         `json:"model,omitempty"` // the model that really answered

	Cached  bool     `json:"cached,omitempty"`  // the reply comes from a Cache, which cost nothing
	Attempt *Attempt `json:"attempt,omitempty"` // an attempt that failed before this reply
}

// CallDelta is one piece of a tool call. The pieces of one call have the same Index;
// their arguments are joined, their other fields are taken once.
type CallDelta struct {
	Index     int    `json:"index"`
	ID        string `json:"id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Extra     string `json:"extra,omitempty"`
}

// Stop says why the model ended its reply. Drivers map their server's words to these
// and pass on what they do not know.
type Stop string

// The reasons to stop.
const (
	StopEnd    Stop = "stop"
	StopLength Stop = "length"
	StopCalls  Stop = "tool_calls"
	StopFilter Stop = "content_filter"
)

// Attempt is a request that failed and was tried again.
type Attempt struct {
	Number int           `json:"number"` // from 1
	Error  *Error        `json:"error"`
	Wait   time.Duration `json:"wait_ns"` // until the next one
}

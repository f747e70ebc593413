// Package llm is the model plane: a [Model] answers a [Request] with a stream of
// [Delta]s. Drivers live in the folders below (openai, anthropic, scripted, offline),
// each opened by its own function; wrappers such as [Retry] are models themselves.
//
// Next: [github.com/openrath-go/rath/flow], which makes agents and workflows of all these.
package llm

import (
	"context"
	"iter"
)

// Model is a language model behind some server. It must be safe for concurrent use.
type Model interface {
	// Stream asks the model and yields its reply piece by piece. The first error ends
	// the stream; it is a *Error where the model or the way to it failed. Breaking out
	// of the loop, or cancelling ctx, stops the request at once. Nothing happens before
	// the loop begins, and each loop is a request of its own.
	Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error]

	// String names the model as a URL, "openai:gpt-5.5".
	String() string
}

package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"go.opentelemetry.io/otel/attribute"
)

// CaptureEnv is the variable that turns the capture of content on, the one that OpenTelemetry's
// own instrumentations of models have. The conventions want it off by default.
const CaptureEnv = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"

// Captures reports whether a value of CaptureEnv asks for content on spans.
func Captures(value string) bool {
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "true", "1", "span_only", "span_and_event":
		return true
	}
	return false
}

type scrubKey struct{}

// Scrub returns JSON without its secrets.
type Scrub func(json.RawMessage) json.RawMessage

// WithScrub returns a context in which captured content passes a function first. It does not
// turn the capture on.
func WithScrub(ctx context.Context, scrub Scrub) context.Context {
	return context.WithValue(ctx, scrubKey{}, scrub)
}

// content puts content on a span, as JSON, if that is wanted. It is made only then.
func content(ctx context.Context, set func(...attribute.KeyValue), key attribute.Key, of func() any) {
	if !Captures(os.Getenv(CaptureEnv)) {
		return
	}
	raw, err := json.Marshal(of())
	if err != nil {
		return // arguments that a model wrote wrong: the record has them
	}
	if scrub, _ := ctx.Value(scrubKey{}).(Scrub); scrub != nil {
		raw = scrub(raw)
	}
	set(key.String(string(raw)))
}

// asked puts what the model is asked on the span.
func (c *Chat) asked(req *llm.Request) {
	content(c.ctx, c.span.SetAttributes, keyInstructions, func() any {
		instructions := []part{}
		for _, chunk := range req.Prompt.All() {
			instructions = append(instructions, parts(chunk)...)
		}
		return instructions
	})
	content(c.ctx, c.span.SetAttributes, keyMessages, func() any {
		messages := []message{}
		for _, chunk := range req.Messages.All() {
			messages = append(messages, message{Role: role(chunk.Kind()), Parts: parts(chunk)})
		}
		return messages
	})
}

// replied puts the reply on the span.
func (c *Chat) replied(r llm.Reply, err error) {
	content(c.ctx, c.span.SetAttributes, keyReply, func() any {
		return []message{{Role: "assistant", Parts: parts(r.Chunk), Finish: finish(r.Stop, err)}}
	})
}

// called puts the arguments of a call on its span.
func (t *Tool) called(call session.Call) {
	content(t.ctx, t.span.SetAttributes, keyToolArguments, func() any { return loose(call.Arguments) })
}

// gave puts the result of a call on its span.
func (t *Tool) gave(result session.Chunk) {
	if result.Kind() == session.KindToolResult {
		content(t.ctx, t.span.SetAttributes, keyToolResult, func() any { return parts(result)[0].Response })
	}
}

// message is a message of the conventions' schemas.
type message struct {
	Role   string `json:"role"`
	Parts  []part `json:"parts"`
	Finish string `json:"finish_reason,omitempty"`
}

// part is any of their parts. Which members it has is said by its type.
type part struct {
	Type      string  `json:"type"`
	Content   *string `json:"content,omitempty"`
	ID        string  `json:"id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments any     `json:"arguments,omitempty"`
	Response  any     `json:"response,omitempty"`
	Modality  string  `json:"modality,omitempty"`
	MIME      string  `json:"mime_type,omitempty"`
	URI       string  `json:"uri,omitempty"`
}

// parts are those of a chunk; what a tool gave is one.
func parts(c session.Chunk) []part {
	out := []part{}
	for p := range c.Parts() {
		out = append(out, partOf(p))
	}
	for call := range c.Calls() {
		out = append(out, part{Type: "tool_call", ID: call.ID, Name: call.Name, Arguments: loose(call.Arguments)})
	}
	if c.Kind() != session.KindToolResult {
		return out
	}
	var response any = out
	if len(out) == 1 && out[0].Content != nil {
		response = loose(*out[0].Content)
	}
	return []part{{Type: "tool_call_response", ID: c.Answer().CallID, Response: response}}
}

// partOf never has the bytes of an image or a file in it: their digest stands for them.
func partOf(p session.Part) part {
	switch p.Kind {
	case session.PartReasoning:
		return part{Type: "reasoning", Content: &p.Text}
	case session.PartImage, session.PartFile:
		out := part{Type: "uri", Modality: p.Kind.String(), MIME: p.MIME, URI: p.URL}
		if p.Data != "" || strings.HasPrefix(p.URL, "data:") {
			sum := sha256.Sum256([]byte(p.Data + p.URL))
			out.URI = "sha256:" + hex.EncodeToString(sum[:])
		}
		return out
	}
	return part{Type: "text", Content: &p.Text}
}

// loose is JSON as it is, and other text as text.
func loose(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// role names who speaks as the schemas do.
func role(k session.Kind) string {
	if k == session.KindToolResult {
		return "tool"
	}
	return k.String()
}

// finish is why a reply ended, in the schemas' words.
func finish(s llm.Stop, err error) string {
	switch {
	case err != nil:
		return "error"
	case s == llm.StopCalls:
		return "tool_call"
	}
	return string(s)
}

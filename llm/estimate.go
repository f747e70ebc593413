package llm

import (
	"strings"

	"github.com/openrath-go/rath/session"
)

// What is taken for tokens where nobody has counted.
const (
	bytesPerToken = 4     // of text and JSON
	tokensOfMedia = 1_000 // an image, or a document that is no text
	tokensOfReply = 1_000 // a reply that the request does not bound
)

// EstimateTokens guesses how many tokens a request and its reply will have together: four
// bytes of text each, 1,000 for an image, and for the reply as many as the request allows
// it, or 1,000. Servers count otherwise; it is for reservations, not for bills.
func EstimateTokens(req *Request) int {
	size, media := 0, 0
	for c := range req.All() {
		for p := range c.Parts() {
			size += len(p.Text) + len(p.Extra)
			switch {
			case p.Kind == session.PartFile && strings.HasPrefix(p.MIME, "text/"):
				size += len(p.Data)
			case p.Kind == session.PartImage || p.Kind == session.PartFile:
				media++
			}
		}
		for call := range c.Calls() {
			size += len(call.Name) + len(call.Arguments)
		}
	}
	for _, t := range req.Tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	size += len(req.Params.ResponseFormat.Schema)
	reply := max(req.Params.MaxTokens, req.Params.MaxCompletionTokens)
	if reply == 0 {
		reply = tokensOfReply
	}
	return (size+bytesPerToken-1)/bytesPerToken + media*tokensOfMedia + reply + req.Params.ThinkingTokens
}

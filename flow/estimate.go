package flow

import (
	"strings"

	"github.com/openrath-go/rath/session"
)

// tokensOfMedia is what an image, or a document that is no text, is taken for.
const tokensOfMedia = 1000

// EstimateTokens guesses how many tokens a transcript has: those of its texts and calls as
// [session.Tokens] has them, and 1,000 for an image. Servers count otherwise.
func EstimateTokens(t session.Transcript) (n int) {
	for _, c := range t.All() {
		for p := range c.Parts() {
			switch {
			case p.Kind == session.PartFile && strings.HasPrefix(p.MIME, "text/"):
				n += session.Tokens(p.Data)
			case p.Kind == session.PartFile || p.Kind == session.PartImage:
				n += tokensOfMedia
			default:
				n += session.Tokens(p.Text)
			}
		}
		for call := range c.Calls() {
			n += session.Tokens(call.Name) + session.Tokens(call.Arguments)
		}
	}
	return n
}

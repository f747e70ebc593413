package openai

import (
	"fmt"
	"strings"

	"github.com/openrath-go/rath/session"
)

// attachments are the images and files of tools' results. The protocol has room for text
// alone in a result, so they go into a user message behind the results of one turn.
type attachments struct {
	n     int // so far, in the request
	parts []part
}

// take returns a result's text, with a word in the place of each attachment.
func (a *attachments) take(c session.Chunk) string {
	var text []string
	for p := range c.Parts() {
		media, ok := mediaOf(p)
		if !ok {
			if p.Kind == session.PartText {
				text = append(text, p.Text)
			}
			continue
		}
		a.n++
		text = append(text, fmt.Sprintf("[attachment %d: see below]", a.n))
		label := fmt.Sprintf("Attachment %d, from the result of %s:", a.n, c.Answer().Tool)
		a.parts = append(a.parts, part{Type: "text", Text: &label}, media)
	}
	return strings.Join(text, "\n")
}

// appendTo adds the message that has what was taken, if there is any.
func (a *attachments) appendTo(messages []message) []message {
	if len(a.parts) > 0 {
		messages = append(messages, message{Role: "user", Content: a.parts})
		a.parts = nil
	}
	return messages
}

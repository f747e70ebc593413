package evidence

import "encoding/json"

// Scrub returns JSON without secrets, as they are taken out of a dossier with the zero
// Options. Of what is no JSON nothing is left: null.
func Scrub(raw json.RawMessage) json.RawMessage {
	out, _, err := newRedactor(nil).json(raw)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// ScrubText is Scrub for text.
func ScrubText(text string) string { return newRedactor(nil).text(text) }

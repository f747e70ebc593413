package offline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/session"
)

// result is what a tool gave, as the model sees it.
type result struct {
	text    string
	outcome session.Outcome
}

// failed tells of a call that did not do, in words for the user.
func (r result) failed() (string, bool) {
	if r.outcome == session.OK {
		return "", false
	}
	var f struct {
		Message string `json:"message"`
		Detail  string `json:"detail"`
	}
	_ = json.Unmarshal([]byte(r.text), &f) // another form of failure is shown as it is
	if f.Message == "" {
		f.Message = r.text
	}
	if f.Detail != "" {
		f.Message += " (" + f.Detail + ")"
	}
	if r.outcome == session.Denied {
		return "I was not allowed to: " + f.Message, true
	}
	return "That did not work: " + f.Message, true
}

// decode reads a result's JSON. Tools may give anything: then the text itself is shown.
func (r result) decode(v any) bool { return json.Unmarshal([]byte(r.text), v) == nil }

func encode(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // a map of strings and numbers always encodes
	return strings.TrimSpace(b.String())
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

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

type failure struct {
	Kind    string `json:"error_kind"`
	Message string `json:"message"`
	Detail  string `json:"detail"`
}

// failed tells of a call that did not do, in words for the user; empty: it did.
func (r result) failed() string {
	if r.outcome == session.OK {
		return ""
	}
	var f failure
	if !r.decode(&f) || f.Message == "" { // another form of failure is shown as it is
		f.Message = r.text
	}
	if f.Detail != "" {
		f.Message += " (" + f.Detail + ")"
	}
	if r.outcome == session.Denied {
		return "I was not allowed to: " + f.Message
	}
	return "That did not work: " + f.Message
}

// kind is the tool's word for what failed.
func (r result) kind() string {
	var f failure
	if r.outcome == session.OK || !r.decode(&f) {
		return ""
	}
	return f.Kind
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

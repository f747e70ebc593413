package memory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The front matter of a note's file: lines of YAML, each value in JSON, which is YAML too.
// The first line tells it from the front matter of others.
const (
	frameBegin = "---\nmemory: "
	frameEnd   = "\n---\n"
)

// plain reports whether a note is no more than its text and time.
func plain(n Note) bool {
	return n.Title == "" && n.Context == "" && n.About == "" && n.Importance == 0 && n.Trust == TrustUnknown && len(n.Meta) == 0 &&
		n.Source == (Source{}) && n.Until.IsZero() && n.Replaces == "" &&
		(n.Time.IsZero() || !undated(n.Time)) && !strings.HasPrefix(n.Text, frameBegin)
}

// frame writes a note as a file, with front matter where it is more than its text.
func frame(n Note) []byte {
	if plain(n) {
		return []byte(n.Text)
	}
	text := n.Text
	n.Text = ""
	var fields map[string]json.RawMessage
	data, err := json.Marshal(n)
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return []byte(text) // times out of any calendar: the text is what counts
	}
	delete(fields, "text")
	delete(fields, "uri")
	delete(fields, "created") // whoever imports it keeps it anew
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%q", frameBegin, n.URI)
	for _, name := range sortedKeys(fields) {
		fmt.Fprintf(&b, "\n%s: %s", name, fields[name])
	}
	b.WriteString(frameEnd)
	b.WriteString(text)
	return b.Bytes()
}

func sortedKeys(fields map[string]json.RawMessage) []string {
	var names []string
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

var errNoFrame = errors.New("no front matter of a note")

// unframe reads what frame wrote.
func unframe(data []byte) (Note, error) {
	rest, ok := bytes.CutPrefix(data, []byte(frameBegin))
	if !ok {
		return Note{}, errNoFrame
	}
	head, text, ok := bytes.Cut(rest, []byte(frameEnd))
	if !ok {
		return Note{}, errNoFrame
	}
	_, lines, _ := strings.Cut(string(head), "\n") // the first is the URI, which the file's name tells
	fields := map[string]json.RawMessage{}
	for line := range strings.Lines(lines) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok || !json.Valid([]byte(value)) {
			return Note{}, errNoFrame
		}
		fields[name] = json.RawMessage(value)
	}
	joined, err := json.Marshal(fields)
	if err != nil {
		return Note{}, err
	}
	var n Note
	if err := json.Unmarshal(joined, &n); err != nil {
		return Note{}, fmt.Errorf("%w: %w", errNoFrame, err)
	}
	n.Text, n.Created = string(text), time.Time{}
	return n, nil
}

package opensandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Event is one thing that happens while a command or a program text runs.
type Event struct {
	Type           string         `json:"type"` // "init", "stdout", "stderr", "result", "error", "execution_complete", ...
	Text           string         `json:"text"` // of init: the id; of stdout and stderr: a line without its end
	Timestamp      int64          `json:"timestamp"`
	ExecutionCount int            `json:"execution_count"`
	ExecutionTime  int64          `json:"execution_time"` // milliseconds
	Results        map[string]any `json:"results"`
	Error          *EventError    `json:"error"`

	Cut int `json:"-"` // bytes of the event that were left out, because it is too long
}

// EventError is why something failed.
type EventError struct {
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"` // of a command: its exit code; "-1" if it was ended by a signal
	Traceback []string `json:"traceback"`
}

// last reports whether nothing comes after an event.
func (e Event) last() bool { return e.Type == "error" || e.Type == "execution_complete" }

// maxEvent is how long an event may be. A line of output is one event, whatever its
// length.
const maxEvent = 16 << 20

// events reads a stream of events: JSON objects, each followed by an empty line, without
// the prefix that the stream's type calls for, but with it they are understood too.
type events struct {
	r   *bufio.Reader
	max int
}

func newEvents(r io.Reader) *events { return &events{bufio.NewReader(r), maxEvent} }

// next returns the next event. A stream that ends is [io.ErrUnexpectedEOF]: whoever has
// had the last event does not ask for another one.
func (s *events) next() (Event, error) {
	for {
		line, cut, err := s.line()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		line = bytes.TrimSpace(line)
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = bytes.TrimSpace(data)
		}
		if len(line) == 0 || line[0] != '{' {
			continue // the end of an event, a comment, or a field that says nothing
		}
		if cut > 0 {
			line = mend(line)
		}
		var e Event
		if err := json.Unmarshal(line, &e, jsontext.AllowInvalidUTF8(true)); err != nil {
			return Event{}, fmt.Errorf("an event of %d bytes is none: %w", len(line), err)
		}
		e.Cut = cut
		return e, nil
	}
}

// line returns a whole line; of one that is too long the beginning, and how much it cut.
func (s *events) line() (line []byte, cut int, err error) {
	for {
		part, err := s.r.ReadSlice('\n')
		room := min(s.max-len(line), len(part))
		line = append(line, part[:room]...)
		cut += len(part) - room
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, cut, err
		}
	}
}

// mend ends an object that was cut within a string.
func mend(line []byte) []byte {
	tail := max(len(line)-len(`\uFFFF`), 0)
	if at := bytes.LastIndexByte(line[tail:], '\\'); at >= 0 {
		line = bytes.TrimRight(line[:tail+at], `\`) // perhaps half of an escape
	}
	for len(line) > 0 {
		if r, size := utf8.DecodeLastRune(line); r != utf8.RuneError || size != 1 {
			break
		}
		line = line[:len(line)-1]
	}
	return append(line, `"}`...)
}

package mcptool

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// What is taken from a server at most. A message beyond the first limit breaks the
// connection; what is beyond another is cut or left out.
const (
	messageLimit     = 16 << 20 // bytes of one message
	backlogLimit     = 32 << 20 // bytes that wait for a program to read them
	descriptionLimit = 8 << 10
	schemaLimit      = 128 << 10
	catalogLimit     = 8 << 20 // bytes of all tools, resources or prompts
	toolLimit        = 1000    // tools, resources or prompts of one server
	noteLimit        = 2 << 10
	stderrLimit      = 8 << 10
	stderrLines      = 10
)

// clean makes a text of a server's safe to show to a person and a model: without control
// characters, overrides of the writing direction and all that prints nothing, which could
// deceive either. It is cut to n bytes.
func clean(text string, n int) string {
	text = strings.TrimSpace(visible(text))
	if len(text) <= n {
		return text
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s [... %d bytes cut ...]", text[:cut], len(text)-cut)
}

// visible drops what does not print. Joiners and variations are part of many scripts, but
// only one at a time: a run of them can carry a text that nobody sees.
func visible(text string) string {
	var last rune
	return strings.Map(func(r rune) rune {
		switch {
		case joins(r) && joins(last), varies(r) && (joins(last) || !variable(last, r)):
			return -1
		case r == '\n', r == '\t', joins(r), varies(r):
		case r == '\r', !unicode.IsGraphic(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		last = r
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

func joins(r rune) bool  { return r == '\u200c' || r == '\u200d' }
func varies(r rune) bool { return unicode.Is(unicode.Variation_Selector, r) }

// variable reports whether a character has such a variation: that of Chinese characters
// are many, others are shown as a text or a picture.
func variable(of, by rune) bool {
	return of != 0 && !varies(of) && (by == '\ufe0e' || by == '\ufe0f' || unicode.Is(unicode.Han, of))
}

var errHidden = errors.New("it has characters that do not print")

// hides reports whether a text has what nobody sees, line ends aside.
func hides(text string) bool {
	text = strings.ReplaceAll(text, "\r", "")
	return visible(text) != text
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p[max(len(p)-stderrLimit, 0):]...)
	t.data = append(t.data[:0], t.data[max(len(t.data)-stderrLimit, 0):]...)
	return len(p), nil
}

// String returns the last lines, cleaned.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(clean(string(t.data), stderrLimit), "\n")
	lines = lines[max(len(lines)-stderrLines, 0):]
	for i, line := range lines {
		lines[i] = clean(line, 300)
	}
	return strings.Join(lines, "\n")
}

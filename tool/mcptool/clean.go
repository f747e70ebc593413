package mcptool

import (
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
	toolLimit        = 1000 // tools, resources or prompts of one server
	noteLimit        = 2 << 10
	stderrLimit      = 8 << 10
	stderrLines      = 10
)

// clean makes a text of a server's safe to show to a person and a model: without control
// characters, overrides of the writing direction and all that prints nothing, which could
// deceive either. It is cut to n bytes.
func clean(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\u200c', r == '\u200d': // joiners are part of many scripts
			return r
		case r == '\r', !unicode.IsGraphic(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.TrimSpace(text)
	if len(text) <= n {
		return text
	}
	cut := n
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s [... %d bytes cut ...]", text[:cut], len(text)-cut)
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

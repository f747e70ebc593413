package driver

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
)

// Note is a text that is kept, and where it comes from.
type Note struct {
	URI  URI    `json:"uri"`
	Text string `json:"text,omitempty"` // Markdown or plain; a hit has a snippet instead

	// Title and Context are found as the text is, but are not part of it: of what document
	// a resource's piece is, and under which headings.
	Title   string `json:"title,omitempty"`
	Context string `json:"context,omitempty"`

	About      string            `json:"about,omitempty"`      // the subject, of which one note is true at a time: "user.city"
	Importance float64           `json:"importance,omitempty"` // from 0 to 1; 0: not told, which counts as 0.5
	Trust      Trust             `json:"trust,omitempty"`
	Meta       map[string]string `json:"meta,omitempty"`
	Source     Source            `json:"source,omitzero"`

	Created  time.Time `json:"created,omitzero"` // when it was first kept
	Time     time.Time `json:"time,omitzero"`    // when it was last said
	Until    time.Time `json:"until,omitzero"`   // when another took its place; zero: it still holds
	Replaces URI       `json:"replaces,omitempty"`
}

// Level is how much of a note is read.
type Level string

// The levels.
const (
	Abstract Level = "abstract" // a sentence or two
	Overview Level = "overview" // headings and beginnings
	Detail   Level = "detail"   // all of it
)

// MaxText is the longest text of a note, in bytes: 1 MiB.
const MaxText = 1 << 20

// Source says where a note was heard.
type Source struct {
	Session session.ID `json:"session,omitzero"`
	Chunk   int        `json:"chunk,omitempty"`  // its number in the session, from 1; 0: not told
	Origin  string     `json:"origin,omitempty"` // a file's name, an address
	SHA256  string     `json:"sha256,omitempty"` // of the file, in hex
}

// Trust says who said what is in a note. Whoever it was, a note is data and never an
// instruction.
type Trust string

// The labels, the better first.
const (
	TrustUser     Trust = "user"     // a person
	TrustAgent    Trust = "agent"    // a model
	TrustTool     Trust = "tool"     // the result of a tool
	TrustResource Trust = "resource" // a file or an address
	TrustUnknown  Trust = ""         // not told
)

var trusts = []Trust{TrustUser, TrustAgent, TrustTool, TrustResource, TrustUnknown}

// Better returns the better of two labels. One that is not known counts as not told.
func (t Trust) Better(o Trust) Trust {
	for _, label := range trusts {
		if t == label || o == label {
			return label
		}
	}
	return TrustUnknown
}

// Worse reports whether another label is better.
func (t Trust) Worse(o Trust) bool { return t != o && t.Better(o) == o }

// Valid reports whether it is one of the labels.
func (t Trust) Valid() bool {
	for _, label := range trusts {
		if t == label {
			return true
		}
	}
	return false
}

// Same reports whether two texts have the same words, as [Words] has it.
func Same(a, b string) bool { return Words(a) == Words(b) }

// Words is the form of a text in which same ones are equal: case and spaces do not count,
// nor does what ends a sentence at its end, nor quotes and brackets around all of it. All
// else counts, since it tells facts apart: C and C#, 5 and -5, 5 and 5%.
func Words(text string) string {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for {
		short := unwrapped(strings.TrimRightFunc(text, endsSentence))
		if short == text || short == "" { // there is nothing else
			return text
		}
		text = short
	}
}

func endsSentence(r rune) bool {
	return unicode.IsSpace(r) || strings.ContainsRune(".,;:!?…。！？、", r)
}

// pairs are quotes and brackets, each with the one that closes it.
var pairs = []string{`""`, "''", "``", "“”", "„“", "‘’", "«»", "‹›", "()", "[]", "{}", "（）", "【】", "「」", "『』"}

// unwrapped is a text without the quotes or brackets around it. In "(a) or (b)" there are
// none around it.
func unwrapped(text string) string {
	for _, p := range pairs {
		opening, size := utf8.DecodeRuneInString(p)
		within, ok := strings.CutPrefix(text, string(opening))
		if ok {
			within, ok = strings.CutSuffix(within, p[size:])
		}
		if ok && !strings.ContainsAny(within, p) {
			return strings.TrimSpace(within)
		}
	}
	return text
}

// Entry is what is in a folder: a note, a folder, or both by one name.
type Entry struct {
	URI      URI       `json:"uri"`
	IsNote   bool      `json:"note,omitempty"`
	Notes    int       `json:"notes,omitempty"` // in the folder, at any depth; -1: not told
	Ended    bool      `json:"ended,omitempty"` // another took the note's place
	Size     int       `json:"size,omitempty"`  // of the note's text, in bytes
	Time     time.Time `json:"time,omitzero"`   // of the note
	Abstract string    `json:"abstract,omitempty"`
}

// Stats is how much a store keeps.
type Stats struct {
	Notes     map[string]int `json:"notes"` // by scope
	Ended     int            `json:"ended"` // notes that another took the place of
	Bytes     int64          `json:"bytes"` // on disk
	Model     string         `json:"model,omitempty"`
	Dimension int            `json:"dimension,omitempty"`
	Vectors   int            `json:"vectors"`           // of that model; the others are still to be made
	Refused   int            `json:"refused,omitempty"` // notes of which that model makes no vector
	Archives  int            `json:"archives"`
	Pending   int            `json:"pending"`
	Failed    int            `json:"failed"`
}

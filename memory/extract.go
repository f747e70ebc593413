package memory

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// Extractor finds the lasting facts of a transcript, usually by asking a model: see
// [github.com/openrath-go/rath/flow.Extractor]. It must be safe for concurrent use.
type Extractor interface {
	Extract(ctx context.Context, e Extraction) ([]Fact, error)
}

// Extraction is a part of a transcript that may have facts in it. What is from memory is
// not in it.
type Extraction struct {
	Lines []Line
	Known []Note // that may be about the same
}

// Line is a chunk.
type Line struct {
	Number int // of the chunk in its session, from 1
	Kind   session.Kind
	Text   string
}

// Fact is what is worth keeping.
type Fact struct {
	Text       string  `json:"text"`
	Category   string  `json:"category"`             // one of Categories; others are facts
	About      string  `json:"about,omitempty"`      // the subject, of which one thing is true at a time
	Importance float64 `json:"importance,omitempty"` // from 0 to 1
	Chunk      int     `json:"chunk"`                // in which it was said
	Updates    URI     `json:"updates,omitempty"`    // the known note that it takes the place of
	Confirms   URI     `json:"confirms,omitempty"`   // the known note that says the same
}

// Categories are the folders that facts are kept in.
var Categories = []string{"preferences", "profile", "events", "facts"}

// The limits of what is taken for a fact, so that no model fills a memory with noise.
const (
	maxFacts = 32   // of one extraction
	maxFact  = 2000 // bytes of its text
)

// harvest makes notes of facts. What a model gets wrong is left out or mended: facts that
// are empty or too long, chunks that were not there, notes that are not known.
type harvest struct {
	store *Store
	of    driver.Archive
	at    time.Time
	known map[URI]Note
	notes []Note
}

func (h *harvest) add(ctx context.Context, facts []Fact, p part) error {
	for _, f := range facts[:min(len(facts), maxFacts)] {
		f.Text = strings.ToValidUTF8(strings.TrimSpace(f.Text), "\uFFFD")
		if known, ok := h.known[f.Confirms]; ok {
			known.Time = h.at
			h.keep(known)
			continue
		}
		if f.Text == "" || len(f.Text) > maxFact {
			continue
		}
		n, err := h.note(ctx, f, p)
		if err != nil {
			return err
		}
		h.keep(n)
	}
	return nil
}

func (h *harvest) note(ctx context.Context, f Fact, p part) (Note, error) {
	if !slices.Contains(Categories, f.Category) {
		f.Category = "facts"
	}
	folder := driver.Root.Join(driver.ScopeUser, "memories", f.Category)
	line, _ := lineOf(p.lines, f.Chunk)
	n := Note{
		Text: f.Text, About: f.About, Importance: min(max(f.Importance, 0), 1), Time: h.at, Trust: trustOf(line, p),
		Source: Source{Session: h.of.Session, Chunk: line.Number},
	}
	if old, ok := h.known[f.Updates]; ok {
		n.Replaces, n.About = old.URI, cmp.Or(n.About, old.About)
	}
	var err error
	n.URI, err = h.name(ctx, folder, f.Text)
	return n, err
}

// name is a URI that no other text has.
func (h *harvest) name(ctx context.Context, folder URI, text string) (URI, error) {
	uri := named(folder, text, short)
	there, err := h.store.d.Get(ctx, uri)
	switch {
	case err == nil && !driver.Same(there.Text, text):
		return named(folder, text, long), nil
	case driver.KindOf(err) == driver.KindOf(ErrNotFound):
		return uri, nil
	}
	return uri, err
}

// keep adds a note in place of one with its URI, unless that is to be trusted more: what is
// read with all that is tainted was read alone before.
func (h *harvest) keep(n Note) {
	i := slices.IndexFunc(h.notes, func(o Note) bool { return o.URI == n.URI })
	switch {
	case i < 0:
		h.notes = append(h.notes, n)
	case h.notes[i].Trust.Better(n.Trust) != h.notes[i].Trust || h.notes[i].Trust == n.Trust:
		h.notes[i] = n
	}
	h.known[n.URI] = n
}

func lineOf(lines []Line, number int) (Line, bool) {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Number == number })
	if i < 0 {
		return Line{}, false
	}
	return lines[i], true
}

// trustOf is the label of a fact. In what is clean it is that of who said it, and of what
// nobody said it is the model's. The model is not believed where it may have been made to
// say so.
func trustOf(said Line, p part) Trust {
	switch {
	case p.tainted:
		return TrustTool
	case said.Number > 0 && said.Kind == session.KindUser:
		return TrustUser
	}
	return TrustAgent
}

package memory

import (
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// The files of OpenRath's directory of a memory: the note memory://user/a is user/a.md. If
// there is a folder of that name, for there are notes in memory://user/a.md too, the note is
// the file .md in it, which no other note can be.
const (
	noteSuffix   = ".md"
	vectorSuffix = ".vec" // of what a note's file is called without its suffix, or with it
)

// maxExtra is how long a file may be that is no note, in bytes.
const maxExtra = 16 << 20

// Transferred is what an import or export has done.
type Transferred struct {
	Notes   int      `json:"notes"`
	Others  int      `json:"others"`            // files that are no notes, kept as they are
	Skipped []string `json:"skipped,omitempty"` // files, and why
}

func (t *Transferred) skip(name, why string) { t.Skipped = append(t.Skipped, name+": "+why) }

// stemOf is the path of the note that a file is of, or nothing.
func stemOf(name string) string {
	if path.Base(name) == noteSuffix {
		name = path.Dir(name)
	}
	stem, ok := strings.CutSuffix(name, noteSuffix)
	if !ok {
		return ""
	}
	return stem
}

// stemOfVector is the path of the note that a vector belongs to.
func stemOfVector(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, vectorSuffix), noteSuffix)
}

// fileOf is the file of a note.
func fileOf(stem string, isFolder bool) string {
	if isFolder {
		return stem + noteSuffix + "/" + noteSuffix
	}
	return stem + noteSuffix
}

// parseNote makes a note of a file, unless it is something else.
func parseNote(name string, data []byte, at time.Time) (Note, bool) {
	stem := stemOf(name)
	if stem == "" || !utf8.Valid(data) {
		return Note{}, false
	}
	uri, err := ParseURI(string(Root) + stem)
	if err != nil || uri.Path() != stem {
		return Note{}, false
	}
	n, err := unframe(data)
	if err != nil {
		n = Note{Text: string(data)}
	}
	n.URI = uri
	if n.Time.IsZero() && !undated(at) {
		n.Time = at
	}
	return n, validNote(n) == nil
}

// undated reports whether a file's time says nothing: archives that are built reproducibly
// give all files the first second of 1970.
func undated(at time.Time) bool { return at.IsZero() || at.Year() <= 1970 }

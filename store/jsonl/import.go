package jsonl

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// OriginalKey is the lineage extra that an imported session has: those lines of its file
// that a session cannot say, so that [Encode] writes them again. It is not for people.
const OriginalKey = "openrath.file"

// original is the value of that extra.
type original struct {
	Partial bool                   `json:"partial,omitzero"`
	Lines   map[int]jsontext.Value `json:"lines,omitempty"` // by their index; the trailer comes after the chunks
}

// Import restores the session as [File.Session] does, and keeps with it what a session
// cannot say: unknown members, the total usage, that it is partial. Encode gives the same
// file again.
func (f *File) Import(parents ...session.Session) (session.Session, error) {
	s, err := f.Session(parents...)
	if err != nil {
		return s, err
	}
	again, err := Encode(s, s.Lineage().Time)
	if err != nil {
		return s, err
	}
	kept, err := f.beyond(again)
	if err != nil || kept == nil {
		return s, err
	}
	value, err := json.Marshal(kept, json.Deterministic(true))
	if err != nil {
		return s, fmt.Errorf("keep what only the file of session %s says: %w", s.ID(), err)
	}
	r := s.Record()
	r.Lineage.Extras = append(r.Lineage.Extras, session.Extra{Key: OriginalKey, Value: string(value)})
	return session.Restore(r, parents...), nil
}

// beyond returns what f says and the other file does not, nil if there is nothing.
func (f *File) beyond(other *File) (*original, error) {
	mine, err := f.lines()
	if err != nil {
		return nil, err
	}
	theirs, err := other.lines()
	if err != nil {
		return nil, err
	}
	o := &original{Partial: f.Trailer == nil, Lines: map[int]jsontext.Value{}}
	for i, line := range mine {
		if !bytes.Equal(line, theirs[i]) { // they have as many chunks
			o.Lines[i] = bytes.TrimSpace(line)
		}
	}
	if !o.Partial && len(o.Lines) == 0 {
		return nil, nil
	}
	return o, nil
}

// restore puts back what the session's own file said.
func (f *File) restore(o original) error {
	for i, line := range o.Lines {
		var err error
		switch {
		case i == 0:
			f.Header = Header{}
			err = json.Unmarshal(line, &f.Header)
		case i <= len(f.Chunks):
			f.Chunks[i-1] = Chunk{}
			err = json.Unmarshal(line, &f.Chunks[i-1])
		default:
			f.Trailer = &Trailer{}
			err = json.Unmarshal(line, f.Trailer)
		}
		if err != nil {
			return fmt.Errorf("read %s, line %d: %w", OriginalKey, i+1, err)
		}
	}
	if o.Partial {
		f.Trailer = nil
	}
	return nil
}

// IsPartial reports whether a session was imported from a file that was not finished.
func IsPartial(l session.Lineage) bool {
	o, err := originalOf(l)
	return err == nil && o.Partial
}

// ImportedTokens returns how many tokens the file of an imported session says that it has
// cost, with all that it comes from.
func ImportedTokens(l session.Lineage) (tokens int64, ok bool) {
	o, err := originalOf(l)
	if err != nil {
		return 0, false
	}
	for _, line := range o.Lines {
		var t Trailer
		if json.Unmarshal(line, &t) == nil && t.RecordType == "trailer" && t.CumulativeUsage != nil && t.CumulativeUsage.TotalTokens != nil {
			return *t.CumulativeUsage.TotalTokens, true
		}
	}
	return 0, false
}

func originalOf(l session.Lineage) (o original, err error) {
	if i := slices.IndexFunc(l.Extras, isOriginal); i >= 0 {
		if err = json.Unmarshal([]byte(l.Extras[i].Value), &o); err != nil {
			err = fmt.Errorf("read %s: %w", OriginalKey, err)
		}
	}
	return o, err
}

func isOriginal(e session.Extra) bool { return e.Key == OriginalKey }

// Notes returns a session's lineage extras without the one that Import adds.
func Notes(extras []session.Extra) (notes []session.Extra) {
	for _, e := range extras {
		if !isOriginal(e) {
			notes = append(notes, e)
		}
	}
	return notes
}

// Scan returns the session files at a path, which is a file, a folder of them, or an
// OpenRath home.
func Scan(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	if sessions, err := os.Stat(filepath.Join(path, "sessions")); err == nil && sessions.IsDir() {
		path = filepath.Join(path, "sessions")
	}
	infos, err := Dir(path).List()
	files := make([]string, len(infos))
	for i, info := range infos {
		files[i] = info.Path
	}
	return files, err
}

package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// WriteJSON writes the dossier as one JSON object, its seal the first member.
func (d *Dossier) WriteJSON(w io.Writer) error { return d.write(w, formatJSON) }

// sealedDossier is the file.
type sealedDossier struct {
	Seal session.Digest `json:"seal"`
	*Dossier
}

func (d *Dossier) renderJSON(_ *format) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(sealedDossier{Dossier: d}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// readJSON reads a dossier. What it would not write back is refused: members that it does
// not know, and those that come twice.
func readJSON(data []byte) (*Dossier, error) {
	var version struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if version.Version < versionFirst || version.Version > Version {
		return nil, fmt.Errorf("%w: it has version %d, and this program knows versions %d to %d", ErrFormat, version.Version, versionFirst, Version)
	}
	d := &Dossier{}
	file := sealedDossier{Dossier: d}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	back, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if !sameJSON(data, back) {
		return nil, fmt.Errorf("%w: it has members that are unknown, missing or there twice", ErrFormat)
	}
	return d, d.Records.canonicalize()
}

func readRecords(raw []byte) (r Records, err error) {
	if err = json.Unmarshal(raw, &r); err != nil {
		return r, err
	}
	return r, r.canonicalize()
}

// canonicalize brings all JSON whose digest counts, or that is shown, back into the form
// that it had before the file was laid out to be read.
func (r *Records) canonicalize() error {
	var all []*json.RawMessage
	for i := range r.Contents {
		all = append(all, &r.Contents[i].Value)
	}
	for i := range r.Runs {
		for j := range r.Runs[i].Events {
			all = append(all, &r.Runs[i].Events[j].Body)
		}
		for j := range r.Runs[i].Interrupts {
			q := &r.Runs[i].Interrupts[j]
			all = append(all, &q.Request, &q.Decision)
		}
	}
	for _, raw := range all {
		if len(*raw) == 0 {
			continue
		}
		v := jsontext.Value(*raw)
		if err := v.Canonicalize(); err != nil {
			return fmt.Errorf("%w: %w", ErrFormat, err)
		}
		*raw = json.RawMessage(v)
	}
	return nil
}

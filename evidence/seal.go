package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/openrath-go/rath/session"
)

// ErrFormat is returned for what is no dossier that this package can read.
var ErrFormat = errors.New("not a dossier")

// format is a way to write a dossier. Its files begin with the same bytes, and then comes
// the seal: the SHA-256, in hexadecimal, of all the file's bytes but the seal's own.
type format struct {
	name   string
	begin  string
	render func(*Dossier, *format) ([]byte, error) // with any seal
	// The JSON dossier, sealed by itself, lies in the other formats in base64 between
	// these; in JSON they are empty.
	open, close string
}

var (
	formatJSON     = &format{name: "json", begin: "{\n \"seal\": \"", render: (*Dossier).renderJSON}
	formatMarkdown = &format{
		name: "markdown", begin: "<!-- rath dossier, sealed sha256:", render: (*Dossier).renderMarkdown,
		open: "\n<!-- rath dossier, base64\n", close: "\n-->\n",
	}
	formatHTML = &format{
		name: "html", begin: "<!DOCTYPE html>\n<!-- rath dossier, sealed sha256:", render: (*Dossier).renderHTML,
		open: `href="data:application/json;base64,`, close: `"`,
	}
)

const sealLen = 2 * sha256.Size

// formatOf tells a file's format by its beginning.
func formatOf(data []byte) (*format, error) {
	for _, f := range []*format{formatJSON, formatMarkdown, formatHTML} {
		if bytes.HasPrefix(data, []byte(f.begin)) && len(data) >= len(f.begin)+sealLen {
			return f, nil
		}
	}
	return nil, fmt.Errorf("%w: its first bytes are not those of a dossier in JSON, Markdown or HTML", ErrFormat)
}

// seal returns the seal that a file has, and the one that it should have.
func (f *format) seal(data []byte) (has string, want session.Digest) {
	at := len(f.begin)
	h := sha256.New()
	h.Write(data[:at])
	h.Write(data[at+sealLen:])
	h.Sum(want[:0])
	return string(data[at : at+sealLen]), want
}

// sealed renders a dossier and seals it.
func (d *Dossier) sealed(f *format) ([]byte, error) {
	data, err := f.render(d, f)
	if err != nil {
		return nil, fmt.Errorf("write dossier as %s: %w", f.name, err)
	}
	_, want := f.seal(data)
	copy(data[len(f.begin):], want.String())
	return data, nil
}

func (d *Dossier) write(w io.Writer, f *format) error {
	data, err := d.sealed(f)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return fmt.Errorf("write dossier as %s: %w", f.name, err)
	}
	return nil
}

// embedded returns the JSON dossier that is in a file.
func (f *format) embedded(data []byte) ([]byte, error) {
	if f.open == "" {
		return data, nil
	}
	i := bytes.LastIndex(data, []byte(f.open))
	if i < 0 {
		return nil, fmt.Errorf("%w: there is no JSON dossier in it", ErrFormat)
	}
	text, _, found := bytes.Cut(data[i+len(f.open):], []byte(f.close))
	if !found {
		return nil, fmt.Errorf("%w: the JSON dossier in it has no end", ErrFormat)
	}
	out, err := base64.StdEncoding.DecodeString(string(text)) // line ends are skipped
	if err != nil {
		return nil, fmt.Errorf("%w: the JSON dossier in it: %w", ErrFormat, err)
	}
	return out, nil
}

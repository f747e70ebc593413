package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/resource"
)

// ResourceOptions say how a document is kept. The zero ResourceOptions keep it under its
// name in memory://resources.
type ResourceOptions struct {
	To         URI     // the folder; empty: memory://resources/ and the name
	Data       []byte  // the document itself; the name is only its name then
	MIME       string  // of Data; empty: found out
	Wait       bool    // where a server reads it: until it can be found
	Importance float64 // from 0 to 1; 0: not told
	Meta       map[string]string
	Progress   func(Progress) // called now and then from one goroutine; may be nil
}

// Progress is how far the adding of a resource has come.
type Progress struct {
	Name  string // of the file at hand
	Files int    // done
	Notes int
}

// resourced is the input of an addition.
type resourced struct {
	Name   string `json:"name"`
	To     URI    `json:"to"`
	SHA256 string `json:"sha256,omitempty"` // of Data
	Wait   bool   `json:"wait,omitempty"`
}

// AddResource keeps a document: a file, all files of a folder, what is at an http or https
// address, or the data in the options. Each is a folder of notes, pieces that overlap, with
// the headings above them; who said it is a document, whose word is not to be trusted. A
// file that is there already, to the byte, is not kept again; one that has changed takes
// the place of what was there. What cannot be read of a folder is skipped, and told.
func (s *Store) AddResource(ctx context.Context, name string, o *ResourceOptions) (Ingested, error) {
	if o == nil {
		o = &ResourceOptions{}
	}
	to, err := s.destination(name, o)
	if err != nil {
		return Ingested{}, s.fail(OpAdd, quoted(name), err)
	}
	in := resourced{Name: name, To: to, Wait: o.Wait}
	if o.Data != nil {
		sum := sha256.Sum256(o.Data)
		in.SHA256 = hex.EncodeToString(sum[:])
	}
	at, err := now(ctx)
	if err != nil {
		return Ingested{}, s.fail(OpAdd, quoted(name), err)
	}
	return do(ctx, s, operation{OpAdd, name, effect.Idempotent}, in, func(ctx context.Context) (Ingested, error) {
		if d, ok := s.d.(driver.Ingester); ok {
			return d.Ingest(ctx, driver.Resource{URI: to, Name: name, Data: o.Data, MIME: o.MIME, Wait: o.Wait})
		}
		a := addition{store: s, options: o, out: Ingested{URI: to}, note: Note{Importance: o.Importance, Meta: o.Meta, Time: at, Trust: TrustResource}}
		return a.out, a.run(ctx, name)
	})
}

func (s *Store) destination(name string, o *ResourceOptions) (URI, error) {
	if strings.TrimSpace(name) == "" {
		return "", invalid("the resource has no name")
	}
	to := cmp.Or(o.To, Root.Join(driver.ScopeResources, slug(name)))
	to, err := ParseURI(string(to))
	if err == nil && to.Parent() == Root {
		err = invalid("%s is a scope: name a folder within one", to)
	}
	return to, err
}

// slug makes a segment of a file's name or an address.
func slug(name string) string {
	if u, err := url.Parse(name); err == nil && resource.IsURL(name) {
		name = u.Host + u.Path
	} else if abs, err := filepath.Abs(name); err == nil {
		name = filepath.Base(abs)
	}
	return segment(name)
}

// segment makes any text a segment of a URI.
func segment(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || unicode.IsControl(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(strings.Trim(text, "/"), "_"))
	for len(text) > driver.MaxSegment-8 {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	if text == "" || text == "." || text == ".." {
		return "document"
	}
	return text
}

// addition is a resource on its way into the store.
type addition struct {
	store    *Store
	options  *ResourceOptions
	isFolder bool
	out      Ingested
	note     Note // what all notes of it have in common
}

func (a *addition) run(ctx context.Context, name string) error {
	if a.options.Data != nil {
		d, err := resource.Parse(ctx, name, a.options.MIME, a.options.Data, a.store.opts.Resources)
		if err != nil {
			return err
		}
		return a.keep(ctx, a.out.URI, d)
	}
	if info, err := os.Stat(name); err == nil && !resource.IsURL(name) {
		a.isFolder = info.IsDir()
	}
	for d, err := range resource.Load(ctx, name, a.store.opts.Resources) {
		var skipped *resource.Skipped
		switch {
		case errors.As(err, &skipped):
			a.out.Skipped = append(a.out.Skipped, skipped.Error())
			continue
		case err != nil:
			return err
		}
		if err := a.keep(ctx, a.folder(d), d); err != nil {
			return err
		}
	}
	return nil
}

// folder is where a document goes: that of the resource itself, or one in it for each file
// of a folder.
func (a *addition) folder(d resource.Document) URI {
	to := a.out.URI
	if a.isFolder {
		for name := range strings.SplitSeq(path.Clean(d.Name), "/") {
			to = to.Join(segment(name))
		}
	}
	return to
}

// keep makes a document's notes.
func (a *addition) keep(ctx context.Context, folder URI, d resource.Document) error {
	there, err := a.known(ctx, folder, d.SHA256)
	switch {
	case err != nil:
		return err
	case there != "":
		a.out.Known++
		if !a.isFolder {
			a.out.URI = there
		}
	default:
		if err := a.replace(ctx, folder, a.notes(folder, d)); err != nil {
			return err
		}
		a.out.Files++
		a.out.Notes += len(d.Pieces)
	}
	if a.options.Progress != nil {
		a.options.Progress(Progress{d.Name, a.out.Files + a.out.Known, a.out.Notes})
	}
	return nil
}

// digestKey is the metadata by which a document is found again.
const digestKey = "sha256"

// known returns where the very same document is kept, here or anywhere among resources;
// nothing if it is not.
func (a *addition) known(ctx context.Context, folder URI, digest string) (URI, error) {
	if has, err := a.has(ctx, folder, digest); has || err != nil {
		return folder, err
	}
	if !a.store.d.Capabilities().Filter {
		return "", nil
	}
	found, err := a.store.d.Find(ctx, driver.Query{Meta: map[string]string{digestKey: digest}, Under: []URI{Root.Join(driver.ScopeResources)}, Limit: 1})
	if err != nil || len(found.Hits) == 0 {
		return "", err
	}
	there := found.Hits[0].URI.Parent()
	if has, err := a.has(ctx, there, digest); !has || err != nil {
		return "", err
	}
	return there, nil
}

// has reports whether a folder has a document. Its first piece says so: see replace.
func (a *addition) has(ctx context.Context, folder URI, digest string) (bool, error) {
	first, err := a.store.d.Get(ctx, piece(folder, 0))
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil && first.Source.SHA256 == digest, err
}

func piece(folder URI, i int) URI { return folder.Join(fmt.Sprintf("%04d", i+1)) }

func (a *addition) notes(folder URI, d resource.Document) []Note {
	notes := make([]Note, len(d.Pieces))
	for i, p := range d.Pieces {
		n := a.note
		n.URI, n.Text, n.Title, n.Context = piece(folder, i), p.Text, d.Title, p.Context
		n.Source = Source{Origin: d.Name, SHA256: d.SHA256}
		n.Meta = map[string]string{digestKey: d.SHA256}
		for k, v := range a.note.Meta {
			n.Meta[k] = v
		}
		notes[i] = n
	}
	return notes
}

// replace keeps a document's notes in place of those of an older one. What the older one has
// more goes first: if the rest is not done any more, the first piece still is the older one's.
func (a *addition) replace(ctx context.Context, folder URI, notes []Note) error {
	for i := len(notes); ; i++ {
		_, err := a.store.d.Remove(ctx, piece(folder, i), false)
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return err
		}
	}
	_, err := a.store.d.Put(ctx, driver.Replace, notes...)
	return err
}

package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/resource"
)

// addition is a resource on its way into the store.
type addition struct {
	store    *Store
	options  *ResourceOptions
	name     string
	identity string // of the resource
	isFolder bool
	total    int // files
	out      Ingested
	note     Note // what all notes of it have in common
}

// item is one document of an addition.
type item struct {
	resource.Document
	folder URI
	id     string // the digest of what tells it from all others
	origin string // as it is told
}

func (a *addition) run(ctx context.Context) error {
	shown := resource.Shown(a.name)
	if a.options.Data != nil {
		a.total = 1
		d, err := resource.Parse(ctx, shown, a.options.MIME, a.options.Data, a.store.opts.Resources)
		if err != nil {
			return err
		}
		return a.keep(ctx, a.item(d))
	}
	if info, err := os.Stat(a.name); err == nil && !resource.IsURL(a.name) {
		a.isFolder = info.IsDir()
	}
	if !a.isFolder {
		a.total = 1
	}
	for d, err := range resource.Load(ctx, a.name, a.reading()) {
		if err == nil {
			err = a.keep(ctx, a.item(d))
		}
		var skipped *resource.Skipped
		switch {
		case errors.As(err, &skipped):
			a.out.Skipped = append(a.out.Skipped, skipped.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

// reading are the options for resources, which also tell how many files there are.
func (a *addition) reading() *resource.Options {
	var o resource.Options
	if a.store.opts.Resources != nil {
		o = *a.store.opts.Resources
	}
	next := o.Progress
	o.Progress = func(p resource.Progress) {
		a.total = p.Total
		if next != nil {
			next(p)
		}
	}
	return &o
}

// item says where a document goes: to the folder of the resource itself, or to one in it for
// each file of a folder.
func (a *addition) item(d resource.Document) item {
	x := item{d, a.out.URI, a.identity, path.Clean(filepath.ToSlash(a.name))}
	switch {
	case a.isFolder:
		x.id, x.origin = path.Join(filepath.ToSlash(a.identity), d.Name), path.Join(x.origin, d.Name)
		for name := range strings.SplitSeq(path.Clean(d.Name), "/") {
			x.folder = x.folder.Join(segment(name, name))
		}
	case a.options.Data != nil || resource.IsURL(a.name):
		x.origin = resource.Shown(a.name)
	}
	x.id = hexDigest([]byte(x.id))[:16]
	return x
}

// The metadata of a document's pieces.
const (
	digestKey = "sha256" // by which it is found again
	originKey = "origin" // by which it is known when it has changed
)

// tries is how often a document is kept anew that others are changing, too.
const tries = 5

// keep makes a document's notes. What cannot be kept of a folder does not stop the rest.
func (a *addition) keep(ctx context.Context, x item) error {
	err := a.keepOnce(ctx, x)
	for i := 1; i < tries && errors.Is(err, ErrConflict); i++ {
		err = a.keepOnce(ctx, x)
	}
	if a.isFolder && (errors.Is(err, ErrInvalidURI) || errors.Is(err, ErrExists)) {
		err = &resource.Skipped{Name: x.Name, Err: err}
	}
	if a.options.Progress != nil && err == nil {
		a.options.Progress(Progress{x.Name, a.out.Files + a.out.Known + len(a.out.Skipped), a.total, a.out.Notes})
	}
	return err
}

func (a *addition) keepOnce(ctx context.Context, x item) error {
	if _, err := ParseURI(string(piece(x.folder, len(x.Pieces)))); err != nil {
		return err
	}
	there, err := a.first(ctx, x.folder)
	if err != nil {
		return err
	}
	switch {
	case there.Source.SHA256 == x.SHA256 && there.URI == piece(x.folder, 0):
		a.out.Known++
		return nil
	case there.URI != "" && there.Meta[originKey] != x.id && there.Source.Origin != x.origin:
		return &taken{x.folder}
	case there.URI == "":
		elsewhere, err := a.elsewhere(ctx, x.SHA256)
		if err != nil {
			return err
		}
		if elsewhere != "" {
			a.known(elsewhere)
			return nil
		}
	}
	if err := a.put(ctx, x, there); err != nil {
		return err
	}
	a.out.Files++
	a.out.Notes += len(x.Pieces)
	return nil
}

func (a *addition) known(at URI) {
	a.out.Known++
	if !a.isFolder {
		a.out.URI = at
	}
}

// first returns the first piece that a folder has, and no note if there is none. A document
// is there whole if that is the piece which comes first.
func (a *addition) first(ctx context.Context, folder URI) (Note, error) {
	n, err := a.store.d.Get(ctx, piece(folder, 0))
	if !errors.Is(err, ErrNotFound) {
		return n, err
	}
	left, err := a.pieces(ctx, folder)
	if err != nil || len(left) == 0 {
		return Note{}, err
	}
	return left[0], nil
}

// pieces are those that are in a folder, with or without the first.
func (a *addition) pieces(ctx context.Context, folder URI) (notes []Note, err error) {
	entries, err := a.store.d.List(ctx, folder)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	for _, e := range entries {
		if !e.IsNote || err != nil {
			continue
		}
		var n Note
		if n, err = a.store.d.Get(ctx, e.URI); err == nil && n.Source.SHA256 != "" {
			notes = append(notes, n)
		}
		if errors.Is(err, ErrNotFound) { // it was removed meanwhile
			err = nil
		}
	}
	return notes, err
}

// elsewhere returns where among the resources the very same document is kept; nothing if it
// is not.
func (a *addition) elsewhere(ctx context.Context, digest string) (URI, error) {
	folders, err := a.having(ctx, digest)
	for _, folder := range folders {
		if err != nil {
			break
		}
		var n Note
		if n, err = a.store.d.Get(ctx, piece(folder, 0)); err == nil && n.Source.SHA256 == digest {
			return folder, nil
		}
		if errors.Is(err, ErrNotFound) {
			err = nil
		}
	}
	return "", err
}

// having are the folders with pieces of a document.
func (a *addition) having(ctx context.Context, digest string) ([]URI, error) {
	under := Root.Join(driver.ScopeResources)
	if d, ok := a.store.d.(driver.Documents); ok {
		return d.FindDocument(ctx, digest, under)
	}
	if !a.store.d.Capabilities().Filter {
		return nil, nil
	}
	found, err := a.store.d.Find(ctx, driver.Query{Meta: map[string]string{digestKey: digest}, Under: []URI{under}, Limit: 1})
	if err != nil || len(found.Hits) == 0 {
		return nil, err
	}
	return []URI{found.Hits[0].URI.Parent()}, nil
}

func piece(folder URI, i int) URI { return folder.Join(fmt.Sprintf("%04d", i+1)) }

func (a *addition) notes(x item) []Note {
	meta := map[string]string{}
	maps.Copy(meta, a.note.Meta)
	meta[digestKey], meta[originKey] = x.SHA256, x.id
	notes := make([]Note, len(x.Pieces))
	for i, p := range x.Pieces {
		n := a.note
		n.URI, n.Text, n.Title, n.Context = piece(x.folder, i), p.Text, x.Title, p.Context
		n.Source, n.Meta = Source{Origin: x.origin, SHA256: x.SHA256}, maps.Clone(meta)
		notes[i] = n
	}
	return notes
}

// put keeps a document's notes in place of those of an older one, whose first piece is there.
func (a *addition) put(ctx context.Context, x item, there Note) error {
	notes := a.notes(x)
	if d, ok := a.store.d.(driver.Documents); ok {
		return d.PutDocument(ctx, x.folder, there.Source.SHA256, notes)
	}
	if there.URI != "" {
		if err := a.clear(ctx, x.folder); err != nil {
			return err
		}
	}
	// The first piece says that a document is there: it comes last.
	if len(notes) > 1 {
		if _, err := a.store.d.Put(ctx, driver.Replace, notes[1:]...); err != nil {
			return err
		}
	}
	if len(notes) == 0 {
		return nil
	}
	_, err := a.store.d.Put(ctx, driver.Replace, notes[0])
	return err
}

// clear removes the pieces of a document, the first of them first.
func (a *addition) clear(ctx context.Context, folder URI) error {
	old, err := a.pieces(ctx, folder)
	for _, n := range old {
		if err != nil {
			break
		}
		if _, err = a.store.d.Remove(ctx, n.URI, false); errors.Is(err, ErrNotFound) {
			err = nil
		}
	}
	return err
}

package driver

import "context"

// Resource is a document to keep. One of Name and Data is set.
type Resource struct {
	URI  URI    // the folder to keep it in
	Name string // a file, or an http or https address
	Data []byte // or the content itself
	MIME string // of Data; empty: found out
	Wait bool   // until it can be found
}

// Ingested is what became of a resource.
type Ingested struct {
	URI     URI      `json:"uri"` // the folder that its notes are in
	Files   int      `json:"files"`
	Notes   int      `json:"notes"`
	Known   int      `json:"known"`             // files that were there already, to the byte
	Skipped []string `json:"skipped,omitempty"` // files, and why
}

// Documents is implemented by drivers that keep documents whole. A document's pieces are
// the notes directly in a folder that have its digest as their Source.SHA256.
type Documents interface {
	// PutDocument puts a document's pieces in the place of all pieces that are in a folder,
	// at once; other notes stay. Was is the digest that the caller takes the first of those
	// to have, empty for none: if it has another by now, it is [ErrConflict]. A note at the
	// URI of a piece that is none itself is [ErrExists].
	PutDocument(ctx context.Context, folder URI, was string, pieces []Note) error
	// FindDocument returns the folders within another that have pieces of a document, no
	// more than a few of them.
	FindDocument(ctx context.Context, digest string, under URI) ([]URI, error)
}

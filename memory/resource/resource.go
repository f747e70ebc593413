// Package resource turns files, folders, addresses and texts into pieces for memory: small
// enough to be found and told, each with the headings or the declaration that it is under.
//
// What it reads is hostile until proven otherwise: sizes, times and depths are limited,
// links are not followed, addresses that are not public are refused, and PDF files are read
// in a machine of their own.
//
// Next: [github.com/openrath-go/rath/sandbox/driver], the first stop for those who write drivers.
package resource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Document is a text that was read, in pieces.
type Document struct {
	Name   string // the file, relative to the folder that was asked for, or the address as it is Shown
	MIME   string // what it was read as, without parameters
	SHA256 string // of its bytes as they came, in hex
	Title  string // what it says of itself; empty: nothing
	Pieces []Piece
}

// Piece is a part of a document, small enough to be found and told.
type Piece struct {
	Context string // headings, or file and declaration: "Install > Linux"
	Text    string
	Line    int // at which what is new in it begins, from 1; 0: the document has no lines
	Overlap int // bytes at its beginning that are the end of the piece before
}

// Options limit what is read. The zero value has the limits that are named.
type Options struct {
	Fetch       *Fetcher       // nil: public addresses only
	MaxFile     int64          // bytes; 0: 16 MiB
	MaxFiles    int            // of a folder; 0: 10,000
	PieceTokens int            // in a piece at most, as Tokens counts; 0: 300, at least 16
	Overlap     int            // tokens that a piece repeats at most; 0: 40, below 0: none; half a piece at most
	Progress    func(Progress) // called before the first file of a folder and after each, if set

	// Ignore says what in a folder is passed over, beside what always is: hidden files and
	// folders, links, what a .gitignore names, node_modules, vendor. Names have slashes.
	Ignore func(name string, isDir bool) bool
}

// Progress is how far the reading of a folder has come.
type Progress struct {
	Name    string // the file that was read last
	Files   int    // read or skipped
	Total   int    // there are
	Bytes   int64  // read
	Skipped int
}

// limits returns the options with the limits that hold where none was given.
func (o *Options) limits() Options {
	var l Options
	if o != nil {
		l = *o
	}
	if l.Fetch == nil {
		l.Fetch = &Fetcher{}
	}
	if l.MaxFile <= 0 {
		l.MaxFile = 16 << 20
	}
	if l.MaxFiles <= 0 {
		l.MaxFiles = 10_000
	}
	if l.PieceTokens == 0 {
		l.PieceTokens = 300
	}
	l.PieceTokens = max(l.PieceTokens, 16)
	if l.Overlap == 0 {
		l.Overlap = 40
	}
	l.Overlap = min(max(l.Overlap, 0), l.PieceTokens/2)
	return l
}

// IsURL reports whether a name is an address to fetch, and not a file.
func IsURL(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// Load reads a file, a folder with all that is in it, or an http or https address. A file of
// a folder that cannot be read is yielded as a [*Skipped] error and does not stop the rest;
// any other error is the last that is yielded.
func Load(ctx context.Context, name string, o *Options) iter.Seq2[Document, error] {
	l := o.limits()
	if IsURL(name) {
		return one(func() (Document, error) { return loadURL(ctx, name, &l) })
	}
	info, err := os.Stat(name)
	switch {
	case err != nil && strings.Contains(name, "://"):
		return one(func() (Document, error) {
			return Document{}, &Refused{URL: Shown(name), Why: "only http and https are fetched"}
		})
	case err != nil:
		return one(func() (Document, error) { return Document{}, fileError(err) })
	case info.IsDir():
		return loadFolder(ctx, name, &l)
	case !info.Mode().IsRegular(): // to open a pipe would wait for its other end
		return one(func() (Document, error) { return Document{}, notFile(name) })
	}
	return one(func() (Document, error) { return loadFile(ctx, name, &l) })
}

func one(load func() (Document, error)) iter.Seq2[Document, error] {
	return func(yield func(Document, error) bool) { yield(load()) }
}

func loadURL(ctx context.Context, name string, o *Options) (Document, error) {
	page, err := o.Fetch.Get(ctx, name)
	if err != nil {
		return Document{}, err
	}
	doc, err := Parse(ctx, Shown(page.URL), page.MIME, page.Data, o)
	doc.Name = Shown(name)
	return doc, err
}

func loadFile(ctx context.Context, name string, o *Options) (Document, error) {
	data, err := readFile(func() (fs.File, error) { return os.Open(name) }, name, o.MaxFile)
	if err != nil {
		return Document{}, err
	}
	return Parse(ctx, filepath.ToSlash(name), "", data, o)
}

// Parse reads a document that is in memory. Name and mime help to find out what it is; both
// may be empty. What is binary, or of a kind that is not known, is driver.ErrUnsupported.
func Parse(ctx context.Context, name, mime string, data []byte, o *Options) (Document, error) {
	l := o.limits()
	sum := sha256.Sum256(data)
	doc := Document{Name: name, SHA256: hex.EncodeToString(sum[:])}
	if int64(len(data)) > l.MaxFile {
		return doc, tooLong(name, l.MaxFile)
	}
	if err := ctx.Err(); err != nil {
		return doc, fmt.Errorf("read %s: %w", name, err)
	}
	text, err := open(ctx, name, mime, data)
	doc.MIME, doc.Title = text.mime, text.title
	if err != nil {
		return doc, err
	}
	doc.Pieces = cut(text.blocks, l.PieceTokens, l.Overlap)
	return doc, nil
}

// open finds out what a document is, and reads it.
func open(ctx context.Context, name, mime string, data []byte) (document, error) {
	k, mime, err := kindOf(name, mime, data)
	var doc document
	doc.mime, _, _ = strings.Cut(mime, ";")
	if err != nil {
		return doc, err
	}
	if k == kindPDF {
		doc.title, doc.blocks, err = readPDF(ctx, name, data)
		return doc, err
	}
	text, err := decode(name, mime, data)
	if err != nil {
		return doc, err
	}
	switch k {
	case kindMarkdown:
		doc.title, doc.blocks = readMarkdown(text)
	case kindHTML:
		doc.title, doc.blocks, err = readHTML(ctx, name, text)
	case kindCode:
		doc.blocks = readCode(path.Clean(name), text)
	case kindTable:
		doc.blocks = readTable(text)
	case kindData:
		doc.blocks = readLines(text)
	default:
		doc.blocks = readText(text)
	}
	return doc, err
}

// document is what a reader makes of a text.
type document struct {
	mime, title string
	blocks      []block
}

// block is a part of a document that is better not cut: a paragraph, a list, a function.
// The blocks of a document in a row are its text.
type block struct {
	context []string
	text    string
	line    int  // 0: not told
	code    bool // its lines count: it is cut between them
}

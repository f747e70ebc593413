package sqlite

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"io"
	"sync"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// cut is how much of a digest serves to find a row.
const cut = 16

// object is data as it is kept.
type object struct {
	digest session.Digest
	size   any // of the data, if the body is compressed
	body   []byte
}

// PutObject implements [store.Objects].
func (d *database) PutObject(ctx context.Context, data []byte) (session.Digest, error) {
	o, err := d.pack(data)
	if err != nil {
		return session.Digest{}, d.failed("keep an object", nil, err)
	}
	err = d.do(ctx, "keep object", o.digest, len(o.body), func(w *writer) error {
		_, err := w.object(o)
		return err
	})
	return o.digest, err
}

// Object implements [store.Objects].
func (d *database) Object(ctx context.Context, digest session.Digest) ([]byte, error) {
	data, err := d.object(ctx, digest)
	if err != nil {
		return nil, d.failed("read object", digest, err)
	}
	return data, nil
}

func (d *database) object(ctx context.Context, digest session.Digest) ([]byte, error) {
	var found *body
	err := d.each(ctx, func(rows *sql.Rows) error {
		b, err := scanBody(rows)
		found = &b
		return err
	}, "SELECT size, body FROM objects WHERE digest = ?", digest[:cut])
	if err == nil && found == nil {
		err = store.ErrNotFound
	}
	if err == nil {
		err = found.inflate()
	}
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(found.data) != digest {
		return nil, errContent
	}
	return found.data, nil
}

var errContent = fmt.Errorf("its content has changed: %w", store.ErrDamaged)

// object keeps an object, if it is not kept already, and returns its number.
func (w *writer) object(o object) (int64, error) {
	id, changed, err := w.insert("INSERT INTO objects (digest, size, body) VALUES (?, ?, ?) ON CONFLICT (digest) DO NOTHING", o.digest[:cut], o.size, o.body)
	if err == nil && changed == 0 {
		_, err = w.row("SELECT id FROM objects WHERE digest = ?", []any{o.digest[:cut]}, &id)
	}
	return id, err
}

// Between these sizes, in bytes, data is compressed. Smaller gains nothing; larger is
// mostly images, and SQLite wastes little room on it.
const (
	minCompressed = 512
	maxCompressed = 256 << 10
)

// pack prepares data for being kept.
func (d *database) pack(data []byte) (object, error) {
	if int64(len(data)) > d.max {
		return object{}, fmt.Errorf("%w: %d bytes, the limit is %d", store.ErrTooLarge, len(data), d.max)
	}
	o := object{digest: sha256.Sum256(data), body: data}
	if data == nil {
		o.body = []byte{} // nil would be NULL
	}
	if len(data) >= minCompressed && len(data) <= maxCompressed {
		if body := deflate(data); len(body) < len(data)-len(data)/8 {
			o.size, o.body = len(data), body
		}
	}
	return o, nil
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // fails for unknown levels only
	return w
}}

func deflate(data []byte) []byte {
	w := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(w)
	var b bytes.Buffer // writing to it does not fail
	b.Grow(len(data) / 2)
	w.Reset(&b)
	_, _ = w.Write(data)
	_ = w.Close()
	return b.Bytes()
}

var inflaters = sync.Pool{New: func() any { return flate.NewReader(nil) }}

// body is data as it is read.
type body struct {
	data []byte
	size sql.NullInt64 // of the data, if it is compressed
}

// scanBody reads the columns size and body.
func scanBody(rows *sql.Rows) (b body, err error) {
	err = rows.Scan(&b.size, &b.data)
	return b, err
}

func (b *body) inflate() error {
	if !b.size.Valid {
		return nil
	}
	if b.size.Int64 < 0 || b.size.Int64 > maxCompressed {
		return errContent
	}
	r := inflaters.Get().(io.Reader)
	defer inflaters.Put(r)
	data := make([]byte, b.size.Int64)
	err := r.(flate.Resetter).Reset(bytes.NewReader(b.data), nil)
	if err == nil {
		_, err = io.ReadFull(r, data)
	}
	if err != nil {
		return errContent
	}
	b.data, b.size.Valid = data, false
	return nil
}

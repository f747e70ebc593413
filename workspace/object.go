package workspace

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// ID names a snapshot: the object name of its tree, SHA-256 in hexadecimal.
type ID string

// BlobID names the content of a file, or the target of a symbolic link.
type BlobID string

// ParseID checks that a text is the name of a snapshot, not whether there is such a one.
func ParseID(text string) (ID, error) {
	if _, err := parseOID(text); err != nil {
		return "", err
	}
	return ID(text), nil
}

// oid is the name of a git object.
type oid [sha256.Size]byte

func (o oid) String() string { return hex.EncodeToString(o[:]) }

func parseOID(text string) (o oid, err error) {
	if len(text) != 2*len(o) {
		return o, fmt.Errorf("%q is no object name: it has %d hexadecimal digits", text, 2*len(o))
	}
	if _, err = hex.Decode(o[:], []byte(text)); err != nil || o.String() != text {
		return o, fmt.Errorf("%q is no object name", text)
	}
	return o, nil
}

// errShort is content that ended before the size it was said to have.
var errShort = errors.New("the content is shorter than its size")

// inMemory is the size up to which content is hashed before it is compressed, so that what
// is known already costs no more than its hash.
const inMemory = 256 << 10

// objects writes loose objects as git does. It is done here rather than by git so that
// contents go from the file that was checked to be one straight to the store, in parallel.
type objects struct {
	dir     string
	packs   packs
	writers sync.Pool // of *zlib.Writer, which are large
	buffers sync.Pool // of *bytes.Buffer
}

func newObjects(dir string) *objects {
	o := &objects{dir: dir}
	o.packs.dir = filepath.Join(dir, "pack")
	return o
}

func (o *objects) path(id oid) string {
	name := id.String()
	return filepath.Join(o.dir, name[:2], name[2:])
}

// put writes an object that is in memory.
func (o *objects) put(kind string, data []byte) (oid, error) {
	id := hashObject(kind, data)
	if o.freshen(id) {
		return id, nil
	}
	_, err := o.write(kind, int64(len(data)), bytes.NewReader(data))
	return id, err
}

func hashObject(kind string, data []byte) oid {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	h.Write(data)
	return oid(h.Sum(nil))
}

// stream writes an object of a known size; it is errShort if r has less.
func (o *objects) stream(ctx context.Context, kind string, size int64, r io.Reader) (oid, error) {
	return o.streamTo(o, ctx, kind, size, r)
}

// streamTo puts what is small, and writes what is large.
func (o *objects) streamTo(to sink, ctx context.Context, kind string, size int64, r io.Reader) (oid, error) {
	r = &ctxReader{ctx, io.LimitReader(r, size)}
	if size > inMemory {
		return o.write(kind, size, r)
	}
	b := o.buffer()
	defer o.buffers.Put(b)
	if _, err := b.ReadFrom(r); err != nil {
		return oid{}, err
	}
	if int64(b.Len()) != size {
		return oid{}, errShort
	}
	return to.put(kind, b.Bytes())
}

// write compresses into a file beside the objects and gives it its name at the end. What
// is left of it after a crash has a name that git prune knows.
func (o *objects) write(kind string, size int64, r io.Reader) (id oid, err error) {
	f, err := os.CreateTemp(o.dir, "tmp_obj_*")
	if err != nil {
		return id, err
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if id, err = o.compress(f, kind, size, r); err != nil {
		return id, err
	}
	if err := f.Chmod(0o444); err != nil {
		return id, err
	}
	if err := f.Close(); err != nil {
		return id, err
	}
	return id, o.rename(f.Name(), id)
}

func (o *objects) compress(w io.Writer, kind string, size int64, r io.Reader) (id oid, err error) {
	z, err := o.compressor(w)
	if err != nil {
		return id, err
	}
	defer o.writers.Put(z)
	h := sha256.New()
	both := io.MultiWriter(h, z)
	if _, err := fmt.Fprintf(both, "%s %d\x00", kind, size); err != nil {
		return id, err
	}
	n, err := io.Copy(both, r)
	if err == nil && n != size {
		err = errShort
	}
	if err != nil {
		return id, err
	}
	return oid(h.Sum(nil)), z.Close()
}

func (o *objects) rename(from string, id oid) error {
	to := o.path(id)
	err := os.Rename(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		err = os.Rename(from, to)
	}
	return err
}

// freshen reports whether there is an object, and makes an old one young again, so that it
// is not collected before what refers to it is kept.
func (o *objects) freshen(id oid) bool { return o.packs.freshen(id) || o.freshenLoose(id) }

func (o *objects) freshenLoose(id oid) bool {
	name := o.path(id)
	info, err := os.Lstat(name)
	if err != nil || info.Size() == 0 { // empty: the machine went down before it was on disk
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > time.Minute {
		return os.Chtimes(name, now, now) == nil
	}
	return true
}

// ctxReader fails when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

// compressor returns a writer that compresses into w.
func (o *objects) compressor(w io.Writer) (*zlib.Writer, error) {
	if z, _ := o.writers.Get().(*zlib.Writer); z != nil {
		z.Reset(w)
		return z, nil
	}
	return zlib.NewWriterLevel(w, zlib.BestSpeed)
}

func (o *objects) buffer() *bytes.Buffer {
	b, _ := o.buffers.Get().(*bytes.Buffer)
	if b == nil {
		b = new(bytes.Buffer)
	}
	b.Reset()
	return b
}

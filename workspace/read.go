package workspace

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
)

// Read writes the content of a file to w.
func (s *Store) Read(ctx context.Context, id BlobID, w io.Writer) error {
	o, err := parseOID(string(id))
	if err != nil {
		return wrap("read", string(id), err)
	}
	release, err := s.use(ctx)
	if err != nil {
		return wrap("read", string(id), err)
	}
	defer release()
	r := s.reader(ctx)
	defer r.close()
	return wrap("read", string(id), r.copy(w, o))
}

// reader reads objects, one at a time: those that stand for themselves itself, those that
// git has made differences of through a git that it starts when it first needs it.
type reader struct {
	s    *Store
	ctx  context.Context
	open map[string]*os.File // packs
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said *head
}

func (s *Store) reader(ctx context.Context) *reader { return &reader{s: s, ctx: ctx} }

func (r *reader) close() {
	for _, f := range r.open {
		f.Close()
	}
	r.open = nil
	r.end()
}

// end ends the git that was asked.
func (r *reader) end() {
	if r.cmd == nil {
		return
	}
	r.in.Close()
	if r.cmd.Process != nil {
		r.cmd.Process.Kill() // it may have output that nobody wants
	}
	_ = r.cmd.Wait()
	r.cmd = nil
}

// bytes returns an object that must be of a kind and is small: a tree, a list of modes.
func (r *reader) bytes(kind string, id oid) ([]byte, error) {
	var b bytes.Buffer
	err := r.object(&b, kind, id)
	return b.Bytes(), err
}

// copy writes the content of a blob to w.
func (r *reader) copy(w io.Writer, id oid) error { return r.object(w, "blob", id) }

func (r *reader) object(w io.Writer, kind string, id oid) error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	err := r.direct(w, kind, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = r.loose(w, kind, id)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = r.ask(w, kind, id)
	}
	return err
}

// direct reads an object from a pack, if it is there as it is.
func (r *reader) direct(w io.Writer, kind string, id oid) error {
	name, offset, ok := r.s.objects.packs.find(id)
	if !ok {
		return fs.ErrNotExist
	}
	f := r.open[name]
	if f == nil {
		var err error
		if f, err = os.Open(name); err != nil {
			return err
		}
		if r.open == nil {
			r.open = make(map[string]*os.File)
		}
		r.open[name] = f
	}
	in := bufio.NewReader(io.NewSectionReader(f, offset, math.MaxInt64-offset))
	number, size, err := readPackHead(in)
	if err != nil {
		return damaged(id, err)
	}
	if number > maxWhole {
		return fs.ErrNotExist
	}
	if number != packKinds[kind] {
		return fmt.Errorf("%s is not a %s: %w", id, kind, ErrUnknown)
	}
	z, err := zlib.NewReader(in)
	if err != nil {
		return damaged(id, err)
	}
	defer z.Close()
	return r.checked(w, id, fmt.Sprintf("%s %d\x00", kind, size), size, z)
}

// loose reads an object's own file.
func (r *reader) loose(w io.Writer, kind string, id oid) error {
	f, err := os.Open(r.s.objects.path(id))
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return damaged(id, err)
	}
	defer z.Close()
	in := bufio.NewReader(z)
	head, err := in.ReadString(0)
	if err != nil {
		return damaged(id, err)
	}
	var size int64
	if got := kindOf(head, &size); got != kind {
		return fmt.Errorf("%s is a %s, not a %s: %w", id, got, kind, ErrUnknown)
	}
	return r.checked(w, id, head, size, in)
}

// checked copies an object's content, and checks it against its name.
func (r *reader) checked(w io.Writer, id oid, head string, size int64, content io.Reader) error {
	sum := &summed{w: w, h: sha256.New()}
	io.WriteString(sum.h, head)
	n, err := io.Copy(sum, &ctxReader{r.ctx, content})
	if err == nil && (n != size || oid(sum.h.Sum(nil)) != id) {
		err = errors.New("the content is not what its name says")
	}
	if err != nil && !sum.failed && r.ctx.Err() == nil {
		return damaged(id, err)
	}
	return err
}

func damaged(id oid, err error) error { return fmt.Errorf("%w: object %s: %w", ErrCorrupt, id, err) }

func kindOf(head string, size *int64) (kind string) {
	if _, err := fmt.Sscanf(head, "%s %d\x00", &kind, size); err != nil {
		return "strange object"
	}
	return kind
}

// summed writes, and hashes what it writes.
type summed struct {
	w      io.Writer
	h      hash.Hash
	failed bool // it could not be written
}

func (s *summed) Write(p []byte) (int, error) {
	s.h.Write(p)
	n, err := s.w.Write(p)
	s.failed = err != nil
	return n, err
}

// ask asks git. Its answer is a line "name kind size", the content and a newline.
func (r *reader) ask(w io.Writer, kind string, id oid) error {
	if err := r.start(); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(r.in, id); err != nil {
		return r.fail(err)
	}
	line, err := r.out.ReadString('\n')
	if err != nil {
		return r.fail(err)
	}
	var name, got string
	var size int64
	if n, _ := fmt.Sscanf(line, "%s %s %d", &name, &got, &size); n != 3 {
		return fmt.Errorf("%w: %s %s", ErrUnknown, kind, id)
	}
	if got != kind {
		r.end() // what it still writes is of no use
		return fmt.Errorf("%s is a %s, not a %s: %w", id, got, kind, ErrUnknown)
	}
	if _, err := io.CopyN(w, r.out, size); err != nil {
		return r.fail(err)
	}
	_, err = r.out.Discard(1)
	return r.fail(err)
}

func (r *reader) start() error {
	if r.cmd != nil {
		return nil
	}
	if err := r.s.git.checked(); err != nil {
		return err
	}
	cmd := r.s.git.command(r.ctx, "cat-file", "--batch")
	r.said = &head{max: 4 << 10}
	cmd.Stderr = r.said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r.cmd, r.in, r.out = cmd, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// fail ends a git that is of no more use, and says why.
func (r *reader) fail(err error) error {
	if err == nil {
		return nil
	}
	cmd := r.cmd
	r.end()
	return r.s.git.explain(r.ctx, cmd, r.said, err)
}

package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/shell"
)

// Kinds of what a name leads to.
const (
	isFolder  = 'd'
	isMissing = 'n'
)

// relative turns a name into a clean slash path below the workspace.
func (b *box) relative(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", fmt.Errorf("%q: %w", name, fs.ErrInvalid)
	}
	if path.IsAbs(name) || filepath.IsAbs(name) {
		return b.rebase(name)
	}
	name = path.Clean(name)
	if _, up := below(name, ".."); up {
		return "", driver.ErrEscape
	}
	return name, nil
}

// rebase makes an absolute name relative, whether it goes by where commands find the
// workspace, by the directory's own names, or by those of what it is a fork of.
func (b *box) rebase(name string) (string, error) {
	if rel, ok := below(path.Clean(name), Root); ok {
		return rel, nil
	}
	for _, dir := range append([]string{b.Dir, b.Named}, b.alias...) {
		if dir == "" {
			continue
		}
		if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), nil
		}
	}
	return "", driver.ErrEscape
}

// below returns where a name is in a folder, if it is. Both are clean.
func below(name, dir string) (string, bool) {
	if name == dir {
		return ".", true
	}
	return strings.CutPrefix(name, dir+"/")
}

// at is where commands find a canonical name.
func at(name string) string { return path.Join(Root, name) }

// resolve follows the links of a name, as far as it exists. Its answer is only as good as
// the moment; but whatever is at the name then can be reached by commands too.
func (b *box) resolve(ctx context.Context, name string, flags ...string) (canonical string, kind byte, err error) {
	rel, err := b.relative(name)
	if err != nil {
		return "", 0, err
	}
	out, err := b.ask(ctx, "resolve", append(flags, at(rel))...)
	if err != nil {
		return "", 0, err
	}
	if len(out) == 0 {
		return "", 0, io.ErrUnexpectedEOF
	}
	canonical, ok := below(string(out[1:]), Root)
	if !ok {
		return "", 0, driver.ErrEscape
	}
	return canonical, out[0], nil
}

// file returns where commands find what a name leads to, unless it is hidden.
func (b *box) file(ctx context.Context, name string) (string, error) {
	name, _, err := b.resolve(ctx, name)
	if err == nil {
		err = b.visible(name)
	}
	return at(name), err
}

// folder returns where commands find a folder that they are to run in.
func (b *box) folder(ctx context.Context, name string) (string, error) {
	name, kind, err := b.resolve(ctx, name)
	switch {
	case err != nil:
		return "", err
	case kind == isMissing:
		return "", fs.ErrNotExist
	case kind != isFolder:
		return "", syscall.ENOTDIR
	}
	return at(name), nil
}

// visible refuses a canonical name that is hidden, or is below something hidden.
func (b *box) visible(name string) error {
	for _, hidden := range b.Hidden {
		if _, ok := below(name, hidden); ok {
			return driver.ErrHidden
		}
	}
	return nil
}

// disposable refuses a canonical name that has something hidden or read-only in it.
func (b *box) disposable(name string) error {
	for _, hidden := range b.Hidden {
		if _, ok := below(hidden, name); ok {
			return driver.ErrHidden
		}
	}
	for _, p := range b.Rules.ReadOnly {
		if !filepath.IsAbs(p) {
			p = filepath.Join(b.Dir, p)
		}
		if _, ok := below(b.shown(filepath.Clean(p)), at(name)); ok {
			return fmt.Errorf("the policy makes a part of it read-only: %w", fs.ErrPermission)
		}
	}
	return b.visible(name)
}

func (b *box) Canonical(name string) (string, error) {
	name, _, err := b.resolve(context.Background(), name)
	return name, err
}

func (b *box) Read(ctx context.Context, name string, offset int64, max int) ([]byte, int64, error) {
	file, err := b.file(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	if offset < 0 {
		return nil, 0, fmt.Errorf("offset %d: %w", offset, fs.ErrInvalid)
	}
	out, err := b.ask(ctx, "read_file", file, strconv.FormatInt(offset, 10), strconv.Itoa(max))
	if err != nil {
		return nil, 0, err
	}
	head, data, _ := bytes.Cut(out, []byte("\n"))
	e, err := entry(name, string(head))
	return data, e.Size, err
}

// Write has the shell take the text from its standard input, and put it in the file's
// place once all of it is there.
func (b *box) Write(ctx context.Context, name string, data []byte) error {
	file, err := b.file(ctx, name)
	if err != nil {
		return err
	}
	call := "write_file " + plain(shell.Words(file, strconv.Itoa(len(data)), ".rath-"+uuid.NewString()))
	return b.script(ctx, call, bytes.NewReader(data))
}

// plain has a shell make the bytes in quoted words that are no UTF-8: what the engine is
// asked for cannot have such.
func plain(words string) string {
	var s strings.Builder
	for len(words) > 0 {
		r, size := utf8.DecodeRuneInString(words)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&s, `'"$(printf '\%03o')"'`, words[0])
		} else {
			s.WriteString(words[:size])
		}
		words = words[size:]
	}
	return s.String()
}

// script calls a function of the clerks' script in a process of its own.
func (b *box) script(ctx context.Context, call string, stdin io.Reader) error {
	var out bytes.Buffer
	code, err := b.run(ctx, process{
		args: []string{"/bin/sh", "-c", clerkScript + call + " 2>&1"}, stdin: stdin, stdout: &out, stderr: &out,
	})
	if err != nil {
		return err
	}
	return failure(code, out.Bytes())
}

func (b *box) List(ctx context.Context, name string) ([]driver.Entry, error) {
	folder, err := b.file(ctx, name)
	if err != nil {
		return nil, err
	}
	out, err := b.ask(ctx, "list_folder", folder)
	if err != nil {
		return nil, err
	}
	rel, _ := below(folder, Root)
	entries, err := b.entries(rel, out)
	if err != nil {
		return nil, fmt.Errorf("the container's list: %w", err)
	}
	slices.SortFunc(entries, func(a, b driver.Entry) int { return strings.Compare(a.Name, b.Name) })
	return entries, nil
}

// entries reads names, each ended by a zero byte, and descriptions with these names after
// another one. A name can have anything else in it, line feeds too, and one that has gone
// since has no description.
func (b *box) entries(folder string, out []byte) (entries []driver.Entry, err error) {
	var names []string
	for {
		name, rest, ok := bytes.Cut(out, []byte{0})
		if out = rest; !ok {
			return nil, io.ErrUnexpectedEOF
		}
		if len(name) == 0 {
			break
		}
		names = append(names, string(name))
	}
	for _, name := range names {
		description, ok := describes(out, name)
		if !ok {
			continue
		}
		out = out[len(description)+len(" ")+len(name)+len("\n"):]
		e, err := entry(path.Join(folder, name), string(description))
		if err != nil {
			return nil, err
		}
		if b.visible(e.Path) == nil {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// describes returns the description at the beginning of a text, if it is that of a name.
func describes(text []byte, name string) ([]byte, bool) {
	end := 0
	for range 3 {
		n := bytes.IndexByte(text[end:], ' ')
		if n < 0 {
			return nil, false
		}
		end += n + 1
	}
	return text[:end-1], bytes.HasPrefix(text[end:], []byte(name+"\n"))
}

func (b *box) Stat(ctx context.Context, name string) (driver.Entry, error) {
	file, err := b.file(ctx, name)
	if err != nil {
		return driver.Entry{}, err
	}
	out, err := b.ask(ctx, "describe", file)
	if err != nil {
		return driver.Entry{}, err
	}
	rel, _ := below(file, Root)
	return entry(rel, strings.TrimSuffix(string(out), "\n"))
}

// entry reads a description: the mode in hexadecimal, the size and the time in seconds.
func entry(name, description string) (driver.Entry, error) {
	fields := strings.Fields(description)
	if len(fields) != 3 {
		return driver.Entry{}, fmt.Errorf("%q is no description of a file", description)
	}
	mode, err := strconv.ParseUint(fields[0], 16, 32)
	size, serr := strconv.ParseInt(fields[1], 10, 64)
	seconds, terr := strconv.ParseInt(fields[2], 10, 64)
	if err := errors.Join(err, serr, terr); err != nil {
		return driver.Entry{}, err
	}
	m := fileMode(uint32(mode))
	return driver.Entry{
		Name: path.Base(name), Path: name, IsDir: m.IsDir(), Size: size, Mode: m, ModTime: time.Unix(seconds, 0),
	}, nil
}

// fileMode is a mode of Linux in Go's terms.
func fileMode(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	for bit, is := range map[uint32]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&bit != 0 {
			mode |= is
		}
	}
	switch m & 0o170000 {
	case 0o040000:
		mode |= fs.ModeDir
	case 0o120000:
		mode |= fs.ModeSymlink
	case 0o010000:
		mode |= fs.ModeNamedPipe
	case 0o140000:
		mode |= fs.ModeSocket
	case 0o060000:
		mode |= fs.ModeDevice
	case 0o020000:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	return mode
}

// Remove deletes a symbolic link itself, not what it leads to.
func (b *box) Remove(ctx context.Context, name string) error {
	name, _, err := b.resolve(ctx, name, "-l")
	if err != nil {
		return err
	}
	if name == "." {
		return errors.New("the workspace itself cannot be removed")
	}
	if err := b.disposable(name); err != nil {
		return err
	}
	_, err = b.ask(ctx, "remove", at(name))
	return err
}

package opensandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
)

var errNotFolder = errors.New("not a folder")

// relative turns a name into a clean slash path below the workspace.
func (b *box) relative(name string) (string, error) {
	if strings.ContainsAny(name, "\x00") || !utf8.ValidString(name) {
		return "", fmt.Errorf("%q: %w", name, fs.ErrInvalid)
	}
	if name == "" {
		return ".", nil
	}
	if path.IsAbs(name) {
		return b.rebase(name)
	}
	name = path.Clean(name)
	if !fs.ValidPath(name) {
		return "", driver.ErrEscape
	}
	return name, nil
}

// rebase makes an absolute name relative: one in the sandbox, or in the directory that is
// bound there.
func (b *box) rebase(name string) (string, error) {
	dirs := []string{Root, b.root}
	if b.bound {
		dirs = append(dirs, b.opts.Dir)
	}
	for _, dir := range dirs {
		if rel, ok := below(path.Clean(name), dir); ok {
			return rel, nil
		}
	}
	return "", driver.ErrEscape
}

// below returns where a name is in a folder, if it is. Both are clean.
func below(name, dir string) (string, bool) {
	if name == dir {
		return ".", true
	}
	rel, ok := strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
	return rel, ok
}

// Kinds of what a name leads to.
const (
	isDir      = "d"
	isFile     = "f"
	isReadOnly = "r" // a file
	isOther    = "o"
	isLink     = "l"
	isMissing  = "n"
)

// place is where a name leads.
type place struct {
	name string // relative to the workspace, without links
	kind string
}

func (p place) mustExist() error {
	if p.kind == isMissing {
		return fs.ErrNotExist
	}
	return nil
}

func (p place) mustBeFile() error {
	switch p.kind {
	case isMissing:
		return fs.ErrNotExist
	case isFile, isReadOnly:
		return nil
	}
	return driver.ErrNotRegular
}

// resolveScript follows the links of a name, as far as it exists. It prints what it leads
// to, and its name if that is another one. With "l", the last part of it is not followed.
const resolveScript = `set -f; todo=$2 at= links=0
while [ -n "$todo" ]; do
	part=${todo%%/*}
	case $todo in */*) todo=${todo#*/};; *) todo=;; esac
	case $part in ''|.) continue;; ..) at=${at%/*}; continue;; esac
	if [ -L "$at/$part" ] && ! { [ "$1" = l ] && [ -z "$todo" ]; }; then
		links=$((links + 1)); [ $links -le 40 ] || { echo 'too many levels of symbolic links' >&2; exit 1; }
		to=$(readlink "$at/$part"; echo .); to=${to%??}
		case $to in /*) at=;; esac
		todo=$to${todo:+/$todo}
	else at=$at/$part; fi
done
if [ "$1" = l ] && [ -L "$at" ]; then echo l
elif [ -d "$at" ]; then echo d
elif [ -f "$at" ] && [ -w "$at" ]; then echo f
elif [ -f "$at" ]; then echo r
elif [ -e "$at" ]; then echo o
else echo n; fi
[ "$at" = "$2" ] || printf '%s\n' "$at"`

// resolve finds out where a name leads. Its answer is only as good as the moment: what a
// command swaps after that is in the sandbox, too.
func (b *box) resolve(ctx context.Context, name string) (place, error) {
	return b.resolveAs(ctx, name, "")
}

// resolveLink resolves only the links on the way to a name.
func (b *box) resolveLink(ctx context.Context, name string) (place, error) {
	return b.resolveAs(ctx, name, "l")
}

func (b *box) resolveAs(ctx context.Context, name, how string) (place, error) {
	rel, err := b.relative(name)
	if err != nil {
		return place{}, err
	}
	if rel == "." {
		return place{rel, isDir}, nil
	}
	given := path.Join(b.root, rel)
	out, err := b.script(ctx, resolveScript, how, given)
	if err != nil {
		return place{}, err
	}
	if len(out) == 0 {
		return place{}, fmt.Errorf("resolve %s: the sandbox's shell says nothing", name)
	}
	if len(out) > 1 {
		given = strings.Join(out[1:], "\n")
	}
	rel, ok := below(given, b.root)
	if !ok {
		return place{}, driver.ErrEscape
	}
	return place{rel, out[0]}, nil
}

// abs is the name of a place in the sandbox.
func (b *box) abs(p place) string { return path.Join(b.root, p.name) }

// Canonical resolves links in the sandbox.
func (b *box) Canonical(name string) (string, error) {
	p, err := b.resolve(context.Background(), name)
	return p.name, err
}

func (b *box) Read(ctx context.Context, name string, offset int64, max int) ([]byte, int64, error) {
	p, err := b.resolve(ctx, name)
	if err == nil {
		err = p.mustBeFile()
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := b.execd.Info(ctx, b.abs(p))
	if err != nil {
		return nil, 0, b.explain(ctx, err)
	}
	if offset >= info.Size || max == 0 {
		return nil, info.Size, nil
	}
	body, err := b.execd.Download(ctx, b.abs(p), offset, max)
	if err != nil {
		return nil, 0, b.explain(ctx, err)
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	return data, info.Size, err
}

// replaceScript puts a file in the place of another one, whose mode and owner it takes.
const replaceScript = `[ ! -d "$2" ] || { echo 'there is a folder now' >&2; exit 1; }
if [ -e "$2" ]; then
	chown "$(stat -c %u:%g "$2")" "$1" 2>/dev/null
	chmod "$(stat -c %a "$2")" "$1" || exit
fi
mv -f "$1" "$2"`

// Write uploads the file under another name beside its own, and then renames it: an
// upload writes in place, and the daemon renames nothing to a name that is taken.
func (b *box) Write(ctx context.Context, name string, data []byte) error {
	p, err := b.resolve(ctx, name)
	if err != nil {
		return err
	}
	switch p.kind {
	case isFile, isMissing:
	case isReadOnly:
		return fs.ErrPermission
	default:
		return driver.ErrNotRegular
	}
	temp := path.Join(path.Dir(b.abs(p)), ".rath-"+uuid.NewString())
	err = b.execd.Upload(ctx, temp, 0o644, bytes.NewReader(data))
	if err == nil {
		_, err = b.script(ctx, replaceScript, temp, b.abs(p))
	}
	if err != nil {
		_ = b.execd.Remove(context.WithoutCancel(ctx), temp)
	}
	return b.explain(ctx, err)
}

func (b *box) List(ctx context.Context, name string) ([]driver.Entry, error) {
	p, err := b.resolve(ctx, name)
	if err == nil {
		err = p.mustExist()
	}
	if err == nil && p.kind != isDir {
		err = errNotFolder
	}
	if err != nil {
		return nil, err
	}
	found, err := b.execd.List(ctx, b.abs(p), 1)
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	entries := make([]driver.Entry, 0, len(found))
	for _, info := range found {
		entries = append(entries, entry(path.Join(p.name, path.Base(info.Path)), info))
	}
	slices.SortFunc(entries, func(x, y driver.Entry) int { return strings.Compare(x.Name, y.Name) })
	return entries, nil
}

func (b *box) Stat(ctx context.Context, name string) (driver.Entry, error) {
	p, err := b.resolve(ctx, name)
	if err == nil {
		err = p.mustExist()
	}
	if err != nil {
		return driver.Entry{}, err
	}
	info, err := b.execd.Info(ctx, b.abs(p))
	if err != nil {
		return driver.Entry{}, b.explain(ctx, err)
	}
	return entry(p.name, info), nil
}

func entry(name string, info FileInfo) driver.Entry {
	return driver.Entry{
		Name: path.Base(name), Path: name, IsDir: info.Type == "directory",
		Size: info.Size, Mode: info.mode(), ModTime: info.Modified,
	}
}

// Remove deletes a symbolic link itself, not what it leads to. The daemon would follow it.
func (b *box) Remove(ctx context.Context, name string) error {
	p, err := b.resolveLink(ctx, name)
	switch {
	case err != nil:
		return err
	case p.name == ".":
		return errors.New("the workspace itself cannot be removed")
	case p.kind == isMissing:
		return fs.ErrNotExist
	}
	_, err = b.script(ctx, `rm -rf -- "$1"`, b.abs(p))
	return err
}

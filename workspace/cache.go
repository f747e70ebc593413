package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// stat is what tells without reading it that a file is as it was. The device is not part
// of it: a file has the same inode below an overlay and through it, and no other file of
// the same path has.
type stat struct {
	size, mtime, ctime int64
	inode              uint64
}

func statOf(info fs.FileInfo) stat {
	s := stat{size: info.Size(), mtime: info.ModTime().UnixNano()}
	s.system(info)
	return s
}

// racy reports whether a file may be changed after a moment without its stat telling: file
// systems stamp changes with clocks of some milliseconds, old ones of two seconds.
func (s stat) racy(at time.Time) bool {
	margin := 30 * time.Millisecond
	if s.ctime%int64(time.Second) == 0 {
		margin = 2 * time.Second
	}
	return s.ctime >= at.Add(-margin).UnixNano()
}

// cached is an entry as it was when it was last looked at.
type cached struct {
	entry
	stat
}

// cache is what a snapshot of a directory leaves for the next: which content belongs to
// which stat. It may be lost at any time. What it names is kept from being collected.
type cache struct {
	at      time.Time // when the scan began
	id      ID        // of the snapshot
	entries map[string]cached
}

// lookup returns the content of a path, if it can be told from the stat.
func (c *cache) lookup(path string, mode uint32, s stat) (oid, bool) {
	e, ok := c.entries[path]
	if !ok || e.stat != s || e.mode&typeMask != mode&typeMask || s.racy(c.at) {
		return oid{}, false
	}
	return e.id, true
}

// cachePath is the file of a directory's cache. What is taken is part of its name.
func (s *Store) cachePath(dir string) string {
	o := s.options
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %v %v", dir, o.Exclude, o.Ignored, o.Unreadable))
	return s.own("cache", hex.EncodeToString(sum[:16]))
}

// loadCache reads a cache. One that cannot be read is an empty one.
func loadCache(name string) *cache {
	data, err := os.ReadFile(name)
	if err == nil {
		if c, err := decodeCache(data); err == nil {
			return c
		}
	}
	return &cache{}
}

func (s *Store) saveCache(name string, c *cache) error { return s.replace(name, c.encode()) }

// cacheMagic is the format and its version.
const cacheMagic = "rath stat cache 1\n"

var errCache = errors.New("not a stat cache")

// encode writes a header, the entries in order of their paths, each path without what it
// shares with the one before, and a checksum.
func (c *cache) encode() []byte {
	paths := make([]string, 0, len(c.entries))
	for p := range c.entries {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	b := make([]byte, 0, 128+len(paths)*96)
	b = append(b, cacheMagic...)
	b = append(b, c.id...)
	b = binary.AppendVarint(b, c.at.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(paths)))
	last := ""
	for _, p := range paths {
		n := shared(last, p)
		b = binary.AppendUvarint(b, uint64(n))
		b = binary.AppendUvarint(b, uint64(len(p)-n))
		b = append(b, p[n:]...)
		e := c.entries[p]
		b = binary.AppendUvarint(b, uint64(e.mode))
		b = binary.AppendVarint(b, e.size)
		b = binary.AppendVarint(b, e.mtime)
		b = binary.AppendVarint(b, e.ctime)
		b = binary.AppendUvarint(b, e.inode)
		b = append(b, e.id[:]...)
		last = p
	}
	return binary.BigEndian.AppendUint32(b, checksum(b))
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

func shared(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

func decodeCache(data []byte) (*cache, error) {
	body, ok := bytes.CutPrefix(data, []byte(cacheMagic))
	if !ok || len(body) < 2*sha256.Size+4 {
		return nil, errCache
	}
	end := len(data) - 4
	if checksum(data[:end]) != binary.BigEndian.Uint32(data[end:]) {
		return nil, errCache
	}
	d := decoder{b: body[:len(body)-4]}
	c := &cache{id: ID(d.bytes(2 * sha256.Size))}
	c.at = time.Unix(0, d.varint())
	n := d.uvarint()
	if n > uint64(len(data)) {
		return nil, errCache
	}
	c.entries = make(map[string]cached, n)
	for last := ""; n > 0 && !d.bad; n-- {
		last = d.entry(c.entries, last)
	}
	if d.bad || len(d.b) > 0 {
		return nil, errCache
	}
	return c, nil
}

// decoder reads from a slice and remembers when it was at its end.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) entry(into map[string]cached, last string) string {
	n := min(d.uvarint(), uint64(len(last)))
	var path strings.Builder
	path.WriteString(last[:n])
	path.Write(d.bytes(d.uvarint()))
	var e cached
	e.mode = uint32(d.uvarint())
	e.size, e.mtime, e.ctime = d.varint(), d.varint(), d.varint()
	e.inode = d.uvarint()
	copy(e.id[:], d.bytes(sha256.Size))
	into[path.String()] = e
	return path.String()
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	b := d.b[:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *decoder) skip(n int) {
	if n <= 0 {
		d.bad = true
		return
	}
	d.b = d.b[n:]
}

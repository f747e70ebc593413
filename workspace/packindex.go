package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"sort"
	"sync"
	"time"
)

// packs knows which objects are in packs.
type packs struct {
	mu      sync.Mutex
	dir     string
	changed time.Time // of the directory, when it was read
	known   map[string]*packIndex
}

// packIndex is the part of an index that tells what is where.
type packIndex struct {
	pack   string
	names  []byte // sorted
	places []byte // four bytes for each name
	young  time.Time
}

const indexHead = 8 + 256*4

// freshen reports whether an object is in a pack, and makes that young again.
func (p *packs) freshen(id oid) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, index := range p.known {
		if index.search(id) >= 0 {
			return index.touch()
		}
	}
	return false
}

// find returns where an object is, if that is within the first 2 GiB of a pack.
func (p *packs) find(id oid) (pack string, offset int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, index := range p.known {
		if i := index.search(id); i >= 0 {
			at := binary.BigEndian.Uint32(index.places[4*i:])
			return index.pack, int64(at), at < 1<<31
		}
	}
	return "", 0, false
}

// touch keeps a pack's objects from being collected for a while.
func (x *packIndex) touch() bool {
	now := time.Now()
	if now.Sub(x.young) < time.Minute {
		return true
	}
	x.young = now
	return os.Chtimes(x.pack, now, now) == nil
}

// search returns the number of an object, or less than zero.
func (x *packIndex) search(id oid) int {
	const width = sha256.Size
	i, found := sort.Find(len(x.names)/width, func(i int) int {
		return bytes.Compare(id[:], x.names[i*width:(i+1)*width])
	})
	if !found {
		return -1
	}
	return i
}

// refresh reads what indexes there are, if that may have changed.
func (p *packs) refresh() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.dir)
	if err != nil {
		return err
	}
	if info.ModTime().Equal(p.changed) && time.Since(p.changed) > time.Second {
		return nil
	}
	names, err := filepath.Glob(filepath.Join(p.dir, "pack-*.idx"))
	if err != nil {
		return err
	}
	known := make(map[string]*packIndex, len(names))
	for _, name := range names {
		if known[name] = p.known[name]; known[name] == nil {
			if known[name], err = readIndex(name); err != nil {
				return err
			}
		}
	}
	p.known, p.changed = known, info.ModTime()
	return nil
}

func readIndex(name string) (*packIndex, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, indexHead)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil, err
	}
	x := &packIndex{pack: name[:len(name)-len(".idx")] + ".pack"}
	n := int(binary.BigEndian.Uint32(head[indexHead-4:]))
	x.names, x.places = make([]byte, n*sha256.Size), make([]byte, n*4)
	if _, err := io.ReadFull(f, x.names); err != nil {
		return nil, err
	}
	_, err = f.ReadAt(x.places, int64(indexHead+n*(sha256.Size+4)))
	return x, err
}

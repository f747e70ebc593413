package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// sink takes new objects: one by one, or into a pack.
type sink interface {
	put(kind string, data []byte) (oid, error)
	stream(ctx context.Context, kind string, size int64, r io.Reader) (oid, error)
}

// packer writes many objects into one pack, since making files is what takes time. Large
// ones become files of their own all the same, so that nobody waits for them.
type packer struct {
	*objects
	mu      sync.Mutex
	file    *os.File
	out     *bufio.Writer
	size    int64
	entries []packed
	has     map[oid]bool
}

// packed is an object in a pack.
type packed struct {
	id     oid
	crc    uint32
	offset int64
}

// Numbers of kinds in packs. What has a higher one than maxWhole is the difference to
// another object.
var packKinds = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

const maxWhole = 4

func (o *objects) newPack() (*packer, error) {
	f, err := os.CreateTemp(filepath.Join(o.dir, "pack"), "tmp_pack_*")
	if err != nil {
		return nil, err
	}
	p := &packer{objects: o, file: f, out: bufio.NewWriterSize(f, 256<<10), has: make(map[oid]bool)}
	return p, p.append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x00")) // the count comes at the end
}

func (p *packer) append(b []byte) error {
	n, err := p.out.Write(b)
	p.size += int64(n)
	return err
}

func (p *packer) stream(ctx context.Context, kind string, size int64, r io.Reader) (oid, error) {
	return p.objects.streamTo(p, ctx, kind, size, r)
}

func (p *packer) put(kind string, data []byte) (oid, error) {
	id := hashObject(kind, data)
	p.mu.Lock()
	known := p.has[id]
	p.has[id] = true
	p.mu.Unlock()
	if known || p.freshen(id) {
		return id, nil
	}
	b := p.buffer()
	defer p.buffers.Put(b)
	b.Write(packHead(packKinds[kind], len(data)))
	z, err := p.compressor(b)
	if err != nil {
		return id, err
	}
	defer p.writers.Put(z)
	if _, err := z.Write(data); err != nil {
		return id, err
	}
	if err := z.Close(); err != nil {
		return id, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entries = append(p.entries, packed{id, crc32.ChecksumIEEE(b.Bytes()), p.size})
	return id, p.append(b.Bytes())
}

// packHead is a kind and a size: four bits of it beside the kind, then seven a byte.
func packHead(kind byte, size int) (b []byte) {
	c := kind<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

func readPackHead(r io.ByteReader) (kind byte, size int64, err error) {
	c, err := r.ReadByte()
	kind, size = c>>4&7, int64(c&15)
	for shift := 4; err == nil && c&0x80 != 0; shift += 7 {
		c, err = r.ReadByte()
		size |= int64(c&0x7f) << shift
	}
	return kind, size, err
}

// discard gives up what was written.
func (p *packer) discard() {
	p.file.Close()
	os.Remove(p.file.Name())
}

// finish makes what was written part of the store, once it is on disk: a torn pack would
// take many snapshots along.
func (p *packer) finish() error {
	defer p.discard() // the file has another name by then, if all went well
	if len(p.entries) == 0 {
		return nil
	}
	sum, err := p.seal()
	if err != nil {
		return err
	}
	name := filepath.Join(p.dir, "pack", "pack-"+hex.EncodeToString(sum))
	index := p.file.Name() + ".idx"
	if err := writeSynced(index, p.index(sum)); err != nil {
		os.Remove(index)
		return err
	}
	if err := os.Rename(p.file.Name(), name+".pack"); err != nil {
		os.Remove(index)
		return err
	}
	return os.Rename(index, name+".idx")
}

func writeSynced(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// seal writes the count into the head and the checksum of it all at the end.
func (p *packer) seal() ([]byte, error) {
	if err := p.out.Flush(); err != nil {
		return nil, err
	}
	if _, err := p.file.WriteAt(binary.BigEndian.AppendUint32(nil, uint32(len(p.entries))), 8); err != nil {
		return nil, err
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.file, 0, p.size)); err != nil {
		return nil, err
	}
	sum := h.Sum(nil)
	if _, err := p.file.WriteAt(sum, p.size); err != nil {
		return nil, err
	}
	if err := p.file.Chmod(0o444); err != nil {
		return nil, err
	}
	if err := p.file.Sync(); err != nil {
		return nil, err
	}
	return sum, p.file.Close()
}

// index is what git finds objects by: how many begin with each byte or a lesser one, then
// the names, checksums and places in order of names; places beyond 2 GiB are in a list of
// their own.
func (p *packer) index(sum []byte) []byte {
	slices.SortFunc(p.entries, func(a, b packed) int { return bytes.Compare(a.id[:], b.id[:]) })
	b := []byte("\xfftOc\x00\x00\x00\x02")
	n := 0
	for first := range 256 {
		for n < len(p.entries) && int(p.entries[n].id[0]) == first {
			n++
		}
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	for _, e := range p.entries {
		b = append(b, e.id[:]...)
	}
	for _, e := range p.entries {
		b = binary.BigEndian.AppendUint32(b, e.crc)
	}
	var far []byte
	for _, e := range p.entries {
		at := uint32(e.offset)
		if e.offset >= 1<<31 {
			at = 1<<31 | uint32(len(far)/8)
			far = binary.BigEndian.AppendUint64(far, uint64(e.offset))
		}
		b = binary.BigEndian.AppendUint32(b, at)
	}
	b = append(append(b, far...), sum...)
	own := sha256.Sum256(b)
	return append(b, own[:]...)
}

package session

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Digest is a SHA-256. As a transcript's it is the chain of docs/formats/digest.md:
// d(0) is 32 zero bytes, d(i+1) = SHA-256(d(i) || canonical JSON of chunk i).
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(d) {
		return fmt.Errorf("parse digest %q: want %d hexadecimal digits", text, 2*len(d))
	}
	copy(d[:], raw)
	return nil
}

// Digest identifies the content: equal digests mean equal transcripts, however they
// came about. It is computed on first use and kept chunk by chunk, so forks share
// the work.
func (t Transcript) Digest() Digest {
	var todo []*entry
	e := t.end()
	for ; e.digest.Load() == nil; e = e.prev {
		todo = append(todo, e)
	}
	d := *e.digest.Load()
	for _, e := range slices.Backward(todo) {
		d = sha256.Sum256(append(d[:], e.chunk.canonical()...))
		kept := d
		e.digest.Store(&kept)
	}
	return d
}

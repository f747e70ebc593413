package session

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
)

// ID names a session. Minted ids are UUIDv7, so they sort by time; the zero ID
// belongs to the empty session.
type ID [16]byte

// ParseID reads the usual 36-character form.
func ParseID(text string) (ID, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return ID{}, fmt.Errorf("parse session id %q: %w", text, err)
	}
	return ID(id), nil
}

// ContentID names a session by its content, for what is the same wherever it is made,
// such as an agent's prompt. It is a UUIDv8 (RFC 9562, section 5.8) of the digest's
// first bytes.
func ContentID(d Digest) (id ID) {
	copy(id[:], d[:])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// String returns the usual 36-character form.
func (id ID) String() string { return uuid.UUID(id).String() }

// IsZero reports whether the id is the empty session's.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText implements [encoding.TextMarshaler].
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (id *ID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseID(string(text))
	return err
}

// Mint makes the identity of a new session: its id and its time. It must be safe
// for concurrent use.
type Mint func() (ID, time.Time)

// NewID mints a UUIDv7 (RFC 9562, section 5.7) and its time. The 12 bits after the
// milliseconds carry their fraction (section 6.2, method 3), so that ids made in one
// process sort as they were made, but for those less than 250 ns apart.
//
// It is not left to a library because it is most of what a fork costs: an id must be
// unique, not secret, so the runtime's per-thread ChaCha8 stream does.
func NewID() (ID, time.Time) {
	now := time.Now()
	ms := uint64(now.UnixMilli())
	fraction := uint64(now.Nanosecond()%1e6) << 12 / 1e6
	var id ID
	binary.BigEndian.PutUint64(id[:8], ms<<16|0x7000|fraction)
	binary.BigEndian.PutUint64(id[8:], rand.Uint64()>>2|0x8000000000000000)
	return id, now.Truncate(time.Microsecond) // what OpenRath's files keep
}

package storetest

import (
	"bytes"
	"crypto/sha256"
	"math/rand/v2"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var objectRules = []rule{
	{"objects come back", objectsComeBack},
	{"unknown objects are not found", objectNotFound},
}

func objectsComeBack(t *test) {
	d, err := t.PutObject(t.Context(), nil)
	t.ok(err)
	t.equal(session.Digest(sha256.Sum256(nil)), d, "the digest of nothing")
	if !t.hasObject(d) {
		t.Error("nothing is not kept")
	}
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 1<<20)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := bytes.Repeat([]byte("the same words again and again, "), 1<<15)
	for _, n := range []int{0, 1, 100, 511, 512, 513, 4096, 100_000, 1 << 18, 1<<18 + 1, 1 << 20} {
		for name, data := range map[string][]byte{"noise": noise[:n], "text": text[:n]} {
			for range 2 { // the second time it is there already
				d, err := t.PutObject(t.Context(), data)
				t.ok(err)
				t.equal(session.Digest(sha256.Sum256(data)), d, "the digest is the SHA-256")
			}
			got, err := t.Object(t.Context(), sha256.Sum256(data))
			t.ok(err)
			if !bytes.Equal(got, data) {
				t.Errorf("%d bytes of %s come back as other ones", n, name)
			}
		}
	}
}

func objectNotFound(t *test) {
	_, err := t.Object(t.Context(), sha256.Sum256([]byte("never kept")))
	t.fails(err, store.ErrNotFound, "an unknown object")
}

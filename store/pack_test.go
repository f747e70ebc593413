package store_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"pgregory.net/rapid"
)

// anyJSON draws values that Pack finds hard: long ones, and ones that look like its own.
func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) any { return f }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.IntRange(90, 300), func(n int) any { return strings.Repeat("x", n) }),
	)
	if depth == 0 {
		return leaf
	}
	names := rapid.SampledFrom([]string{"a", "chunk", "$object", "arguments", "<b>"})
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(names, anyJSON(depth-1), 0, 4), func(m map[string]any) any { return m }),
		rapid.Map(rapid.StringMatching("[0-9a-f]{64}"), func(s string) any { return map[string]any{"$object": s} }),
	)
}

func TestPackComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value, err := json.Marshal(anyJSON(3).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			value = []byte(strings.ReplaceAll(string(value), "$", `\u0024`))
		}
		packed, objects, err := store.Pack(value)
		if err != nil {
			t.Fatal(err)
		}
		kept := map[session.Digest][]byte{}
		for _, o := range objects {
			kept[sha256.Sum256(o)] = o
		}
		if len(store.References(packed)) != len(objects) {
			t.Fatalf("%d references to %d objects: %s", len(store.References(packed)), len(objects), packed)
		}
		back, err := store.Unpack(packed, func(d session.Digest) ([]byte, error) {
			if kept[d] == nil {
				return nil, errors.New("unknown object")
			}
			return kept[d], nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(canonical(t, value), canonical(t, back)); diff != "" {
			t.Fatalf("%s\npacked %s", diff, packed)
		}
	})
}

func canonical(t interface{ Fatal(...any) }, v []byte) string {
	c := jsontext.Value(v).Clone()
	if err := c.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return string(c)
}

func TestPackKeepsChunksByTheirDigest(t *testing.T) {
	c := session.User(session.Text(strings.Repeat("long <text> ", 30)))
	raw, err := c.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	packed, objects, err := store.Pack(json.RawMessage(`{"reply":{"chunk":` + string(raw) + `,"stop":"stop"}}`))
	want := `{"reply":{"chunk":{"$object":"` + c.Digest().String() + `"},"stop":"stop"}}`
	if err != nil || string(packed) != want || len(objects) != 1 || string(objects[0]) != string(raw) {
		t.Errorf("%s, %v", packed, err)
	}
}

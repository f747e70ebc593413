package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// Values above these sizes, in bytes, are kept as objects.
const (
	maxInline      = 256
	maxInlineChunk = 96 // the session that the chunk is in keeps it anyway
)

// A reference is {"$object":"DIGEST"}, exactly.
const (
	refBegin = `{"$object":"`
	refEnd   = `"}`
	refLen   = len(refBegin) + 2*sha256.Size + len(refEnd)
)

// Pack takes large values out of JSON: a member "chunk", and long strings and arrays.
// In their place it leaves {"$object":"DIGEST"}; their bytes, in canonical form, are
// returned for a [Batch]. What is alike in many events is so kept once.
func Pack(value json.RawMessage) (packed json.RawMessage, objects [][]byte, err error) {
	take := func(raw []byte) ([]byte, error) {
		v := jsontext.Value(raw).Clone()
		if err := v.Canonicalize(); err != nil {
			return nil, err
		}
		objects = append(objects, v)
		return reference(sha256.Sum256(v)), nil
	}
	switch {
	case len(value) == 0:
		return nil, nil, nil
	case mayRefer(value): // something in it looks like a reference
		packed, err = take(value)
	default:
		packed, err = rewrite(value, isLarge, take)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pack JSON: %w", err)
	}
	return packed, objects, nil
}

// isLarge takes long values out. Objects are entered, but for chunks.
func isLarge(chunk bool, rest []byte) verdict {
	switch {
	case len(rest) > 0 && rest[0] == '{' && !chunk:
		return enter
	case chunk:
		return replaceAbove(maxInlineChunk)
	}
	return replaceAbove(maxInline)
}

// Unpack puts the values back that Pack took out. Objects are read with get.
func Unpack(packed json.RawMessage, get func(session.Digest) ([]byte, error)) (json.RawMessage, error) {
	if !mayRefer(packed) {
		return packed, nil
	}
	put := func(raw []byte) ([]byte, error) {
		d, _ := referenced(raw)
		return get(d)
	}
	value, err := rewrite(packed, isReference, put)
	if err != nil {
		return nil, fmt.Errorf("unpack JSON: %w", err)
	}
	return value, nil
}

func isReference(_ bool, rest []byte) verdict {
	if len(rest) == 0 || rest[0] != '{' {
		return keep
	}
	if _, ok := referenced(rest[:min(len(rest), refLen)]); ok {
		return replaceAbove(0)
	}
	return enter
}

// References returns the digests that packed JSON refers to.
func References(packed json.RawMessage) (all []session.Digest) {
	_, _ = Unpack(packed, func(d session.Digest) ([]byte, error) {
		all = append(all, d)
		return []byte("null"), nil
	})
	return all
}

// mayRefer reports whether a reference could be in a value, however its name is escaped.
func mayRefer(v []byte) bool {
	return bytes.Contains(v, []byte("$object")) || bytes.Contains(v, []byte(`\u0024`))
}

func reference(d session.Digest) []byte { return []byte(refBegin + d.String() + refEnd) }

func referenced(raw []byte) (d session.Digest, ok bool) {
	if len(raw) != refLen || !bytes.HasPrefix(raw, []byte(refBegin)) || !bytes.HasSuffix(raw, []byte(refEnd)) {
		return d, false
	}
	return d, d.UnmarshalText(raw[len(refBegin):refLen-len(refEnd)]) == nil
}

// verdict says what becomes of a value: it is replaced if it is longer than the number
// says, kept, or entered, if it is an object.
type verdict int

const (
	keep  verdict = -1
	enter verdict = -2
)

func replaceAbove(n int) verdict { return verdict(n) }

// rewrite copies JSON and replaces values. It asks judge about each, with the input from
// the value on, and whether it is a member "chunk".
func rewrite(value []byte, judge func(chunk bool, rest []byte) verdict, replace func(raw []byte) ([]byte, error)) ([]byte, error) {
	r := rewriter{in: bytes.TrimSpace(value), judge: judge, replace: replace}
	r.dec = jsontext.NewDecoder(bytes.NewBuffer(r.in))
	if err := r.value(false); err != nil {
		return nil, err
	}
	if r.copied == 0 {
		return r.in, nil
	}
	return append(r.out, r.in[r.copied:]...), nil
}

type rewriter struct {
	in, out []byte
	copied  int // how much of in is in out
	dec     *jsontext.Decoder
	judge   func(chunk bool, rest []byte) verdict
	replace func(raw []byte) ([]byte, error)
}

func (r *rewriter) value(chunk bool) error {
	r.dec.PeekKind() // so that the offset is past what is between values
	rest := bytes.TrimLeft(r.in[r.dec.InputOffset():], " \t\r\n:,")
	what := r.judge(chunk, rest)
	if what == enter {
		return r.members()
	}
	raw, err := r.dec.ReadValue()
	if err != nil || what == keep || len(raw) <= int(what) {
		return err
	}
	end := int(r.dec.InputOffset())
	with, err := r.replace(raw)
	if err != nil {
		return err
	}
	r.out = append(append(r.out, r.in[r.copied:end-len(raw)]...), with...)
	r.copied = end
	return nil
}

func (r *rewriter) members() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return err
	}
	for r.dec.PeekKind() == jsontext.KindString {
		name, err := r.dec.ReadValue()
		if err != nil {
			return err
		}
		if err := r.value(string(name) == `"chunk"`); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken() // the end, or what is wrong
	return err
}

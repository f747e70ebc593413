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

// refMember is the one member of a reference.
const refMember = "$object"

// Pack takes large values out of JSON: a member "chunk", and long strings and arrays.
// In their place it leaves {"$object": DIGEST}; their bytes, in canonical form, are
// returned for a [Batch]. What is alike in many events is so kept once.
func Pack(value json.RawMessage) (packed json.RawMessage, objects [][]byte, err error) {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	pack := func(name string, v jsontext.Value) (bool, error) {
		switch {
		case mayRefer(v): // it looks like a reference, and is none
		case v.Kind() == jsontext.KindBeginObject && name != "chunk":
			return false, nil
		case len(v) <= maxInline && name != "chunk", len(v) <= maxInlineChunk:
			return true, enc.WriteValue(v)
		}
		v = v.Clone()
		if err := v.Canonicalize(); err != nil {
			return true, err
		}
		objects = append(objects, v)
		return true, enc.WriteValue(reference(sha256.Sum256(v)))
	}
	if err := walk(enc, "", jsontext.Value(value), pack); err != nil {
		return nil, nil, fmt.Errorf("pack JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), objects, nil
}

// Unpack puts the values back that Pack took out. Objects are read with get.
func Unpack(packed json.RawMessage, get func(session.Digest) ([]byte, error)) (json.RawMessage, error) {
	if !mayRefer(jsontext.Value(packed)) {
		return packed, nil
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	unpack := func(_ string, v jsontext.Value) (bool, error) {
		if v.Kind() != jsontext.KindBeginObject || !mayRefer(v) {
			return true, enc.WriteValue(v)
		}
		d, ok := referenced(v)
		if !ok {
			return false, nil
		}
		data, err := get(d)
		if err != nil {
			return true, err
		}
		return true, enc.WriteValue(data)
	}
	if err := walk(enc, "", jsontext.Value(packed), unpack); err != nil {
		return nil, fmt.Errorf("unpack JSON: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// References returns the digests that packed JSON refers to.
func References(packed json.RawMessage) (all []session.Digest) {
	_, _ = Unpack(packed, func(d session.Digest) ([]byte, error) {
		all = append(all, d)
		return []byte("null"), nil
	})
	return all
}

// walk copies a value, the name of the member that holds it given, to enc. What visit
// does not write itself is an object, and its members are walked.
func walk(enc *jsontext.Encoder, name string, v jsontext.Value, visit func(name string, v jsontext.Value) (written bool, err error)) error {
	v = bytes.TrimSpace(v)
	if written, err := visit(name, v); written || err != nil {
		return err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for dec.PeekKind() != jsontext.KindEndObject {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return err
		}
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := walk(enc, name, value, visit); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

// mayRefer reports whether a reference could be in v, however its name is escaped.
func mayRefer(v jsontext.Value) bool {
	return bytes.Contains(v, []byte(refMember)) || bytes.Contains(v, []byte(`\u0024`))
}

func reference(d session.Digest) jsontext.Value {
	return jsontext.Value(`{"` + refMember + `":"` + d.String() + `"}`)
}

func referenced(v jsontext.Value) (d session.Digest, ok bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(v, &m) != nil || len(m) != 1 {
		return d, false
	}
	return d, json.Unmarshal(m[refMember], &d) == nil
}

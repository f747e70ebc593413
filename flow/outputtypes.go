package flow

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// readers are the schemas of the types in a form that read JSON in a way of their own, where
// jsonschema would go by their fields and ask for what they cannot read.
type readers struct {
	schemas map[reflect.Type]*jsonschema.Schema
	seen    map[reflect.Type]bool
}

// readersIn finds them. The error says what nothing can be read into.
func readersIn(t reflect.Type) (map[reflect.Type]*jsonschema.Schema, error) {
	r := &readers{map[reflect.Type]*jsonschema.Schema{}, map[reflect.Type]bool{}}
	err := r.walk(t)
	return r.schemas, err
}

var (
	readsJSON = reflect.TypeFor[json.Unmarshaler]()
	readsText = reflect.TypeFor[encoding.TextUnmarshaler]()
	bigInt    = reflect.TypeFor[big.Int]()
)

func (r *readers) walk(t reflect.Type) error {
	t = pointed(t)
	if r.seen[t] {
		return nil // a circle is for jsonschema to refuse
	}
	r.seen[t] = true
	switch own := reader(t); {
	case own != nil:
		r.schemas[t] = own
		return nil
	case t.Kind() == reflect.Interface && t.NumMethod() > 0:
		return fmt.Errorf("nothing can be read into the interface %v", t)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Array, t.Kind() == reflect.Map:
		return r.walk(t.Elem())
	case t.Kind() == reflect.Struct:
		return r.fields(t)
	}
	return nil
}

// fields looks at those of a struct, and of what is embedded in it.
func (r *readers) fields(t reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		if isQuoted(f) {
			return fmt.Errorf("no schema says that %v.%s is a value in a text, as the option string of its json tag has it", t, f.Name)
		}
		if err := r.walk(f.Type); err != nil {
			return err
		}
	}
	return nil
}

// isQuoted reports whether a field is read from a JSON text that has its value in it.
func isQuoted(f reflect.StructField) bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	k := pointed(f.Type).Kind()
	return slices.Contains(strings.Split(options, ","), "string") && (k == reflect.String || k >= reflect.Bool && k <= reflect.Float64)
}

// pointed is a type without the pointers to it.
func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// reader is the schema of a type that reads JSON in a way of its own; nil: it does not, or its
// fields say what it reads, as where it only checks them.
func reader(t reflect.Type) *jsonschema.Schema {
	at := reflect.PointerTo(t)
	switch {
	case t.Kind() == reflect.Interface:
		return nil
	case t == bigInt: // jsonschema takes it for a text
		return &jsonschema.Schema{Type: "integer"}
	case at.Implements(readsText):
		return &jsonschema.Schema{Type: "string"}
	case at.Implements(readsJSON) && isOpaque(t):
		return &jsonschema.Schema{Types: []string{"null", "boolean", "number", "string", "array", "object"}}
	}
	return nil
}

// isOpaque reports whether a type's form says nothing of what it reads: bytes, as those of
// [json.RawMessage], and structs without a field that can be seen.
func isOpaque(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	case reflect.Struct:
		for f := range t.Fields() {
			if f.IsExported() {
				return false
			}
		}
		return true
	}
	return false
}

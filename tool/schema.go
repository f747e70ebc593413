package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// What a schema may ask for at most. The library follows a schema without a bound: one
// that leads back to itself overflows the stack, and a small one can take for ever.
const (
	expansionLimit = 10_000    // schemas that apply to one value
	patternLimit   = 20_000    // instructions of all regular expressions
	workLimit      = 256 << 20 // of checking one value; about the bytes of text written
	depthLimit     = 2_000     // schemas within one another while a value is checked
	messageLimit   = 8 << 10
)

// ErrSchemaWork is what checking a value fails with that would take too long.
var ErrSchemaWork = errors.New("checking it against the schema would take too long")

// Schema checks values against a JSON Schema of somebody who need not be trusted: neither
// the schema nor a value can make that last, or end the program. It is safe for
// concurrent use.
type Schema struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	nodes    map[*jsonschema.Schema]*schemaNode
}

// schemaNode is what is known of one schema within another.
type schemaNode struct {
	also    []*jsonschema.Schema // what applies to the same value
	weight  int                  // the text that its errors may hold
	pattern int                  // the size of its regular expressions
}

// ParseSchema reads a schema. It refuses one that could not be checked in a bounded time,
// that leads elsewhere, or that has both references and an $id below its root.
func ParseSchema(data json.RawMessage) (*Schema, error) {
	s := &Schema{root: new(jsonschema.Schema), nodes: map[*jsonschema.Schema]*schemaNode{}}
	if err := json.Unmarshal(data, s.root); err != nil {
		return nil, err
	}
	x := &schemaIndex{of: s, places: map[string]*jsonschema.Schema{}}
	if err := x.add(s.root, ""); err != nil {
		return nil, err
	}
	var err error
	if s.resolved, err = s.root.Resolve(nil); err != nil {
		return nil, err
	}
	if err := x.follow(); err != nil {
		return nil, err
	}
	counts := map[*jsonschema.Schema]int{}
	for of := range s.nodes {
		if _, err := s.expand(of, counts); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Validate checks a value as [json.Unmarshal] makes it.
func (s *Schema) Validate(value any) error {
	w := &schemaWork{s, workLimit}
	if !w.visit(s.root, value, 1) {
		return ErrSchemaWork
	}
	err := s.resolved.Validate(value)
	if err != nil && len(err.Error()) > messageLimit { // it repeats the value at each step
		return errors.New(strings.ToValidUTF8(err.Error()[:messageLimit], "") + " ...")
	}
	return err
}

// expand counts the schemas that apply to a value to which one does. 0 in counts is one
// that is being counted.
func (s *Schema) expand(of *jsonschema.Schema, counts map[*jsonschema.Schema]int) (int, error) {
	if n, ok := counts[of]; n > 0 {
		return n, nil
	} else if ok {
		return 0, errors.New("a part of it applies itself to the same value again")
	}
	counts[of] = 0
	total := 1
	for _, sub := range s.nodes[of].also {
		n, err := s.expand(sub, counts)
		if err != nil {
			return 0, err
		}
		if total += n; total > expansionLimit {
			return 0, fmt.Errorf("more than %d parts of it apply to the same value", expansionLimit)
		}
	}
	counts[of] = total
	return total, nil
}

// schemaIndex finds what the references of a schema lead to.
type schemaIndex struct {
	of       *Schema
	places   map[string]*jsonschema.Schema // by pointer and anchor
	refs     []*jsonschema.Schema          // those that refer to another
	rebased  bool                          // there is an $id below the root
	patterns int
}

// add enters a schema and those within it.
func (x *schemaIndex) add(s *jsonschema.Schema, path string) error {
	if s == nil {
		return fmt.Errorf("there is null for a schema at #%s", path)
	}
	n := &schemaNode{weight: len(path) + len(s.ID) + textSize(s.Enum) + textSize(s.Required)}
	if s.Const != nil {
		n.weight += textSize(*s.Const)
	}
	x.of.nodes[s], x.places[path] = n, s
	for _, anchor := range []string{s.Anchor, s.DynamicAnchor} {
		if anchor != "" {
			x.places[anchor] = s
		}
	}
	if s.Ref != "" || s.DynamicRef != "" {
		x.refs = append(x.refs, s)
	}
	x.rebased = x.rebased || path != "" && s.ID != ""
	if err := x.measure(s, n); err != nil {
		return err
	}
	n.also = inPlace(s)
	return eachWithin(s, path, x.add)
}

// follow enters what the references lead to. As there is one $id at most, all lead to
// places within the same document.
func (x *schemaIndex) follow() error {
	if x.rebased && len(x.refs) > 0 {
		return errors.New("it has references and an $id below its root, which together are not supported")
	}
	for _, s := range x.refs {
		for _, ref := range []string{s.Ref, s.DynamicRef} {
			if ref == "" {
				continue
			}
			u, err := url.Parse(ref)
			if err != nil {
				return err
			}
			to := x.places[u.Fragment]
			if to == nil {
				return fmt.Errorf("there is nothing at %s", ref)
			}
			n := x.of.nodes[s]
			n.also = append(n.also, to)
		}
	}
	return nil
}

// measure bounds the regular expressions, before the library makes programs of them.
func (x *schemaIndex) measure(s *jsonschema.Schema, n *schemaNode) error {
	patterns := []string{s.Pattern}
	for pattern := range s.PatternProperties {
		patterns = append(patterns, pattern)
	}
	for _, pattern := range patterns {
		re, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return fmt.Errorf("the pattern %q: %w", pattern, err)
		}
		n.pattern += programSize(re)
	}
	if x.patterns += n.pattern; x.patterns > patternLimit {
		return errors.New("its regular expressions are too large")
	}
	return nil
}

// programSize is about how large the program of a regular expression is.
func programSize(re *syntax.Regexp) int {
	size := len(re.Rune)
	if re.Op == syntax.OpCharClass {
		size = 1 + size/16
	}
	for _, sub := range re.Sub {
		size += 1 + programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return size
}

// inPlace are the schemas within one that apply to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		all = append(all, list...)
	}
	for _, one := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		if one != nil {
			all = append(all, one)
		}
	}
	for _, byName := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, one := range byName {
			all = append(all, one)
		}
	}
	return all
}

// unnamed are the fields of a schema whose name JSON does not see.
var unnamed = map[string]string{"Items": "items", "ItemsArray": "items", "DependencySchemas": "dependencies"}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// eachWithin calls fn for each schema directly within one, with its pointer.
func eachWithin(s *jsonschema.Schema, path string, fn func(*jsonschema.Schema, string) error) error {
	v := reflect.ValueOf(s).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			name = unnamed[field.Name]
		}
		var err error
		switch sub := v.FieldByIndex(field.Index).Interface().(type) {
		case *jsonschema.Schema:
			if sub != nil {
				err = fn(sub, path+"/"+name)
			}
		case []*jsonschema.Schema:
			for i, one := range sub {
				err = errors.Join(err, fn(one, path+"/"+name+"/"+strconv.Itoa(i)))
			}
		case map[string]*jsonschema.Schema:
			for key, one := range sub {
				err = errors.Join(err, fn(one, path+"/"+name+"/"+pointerEscaper.Replace(key)))
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

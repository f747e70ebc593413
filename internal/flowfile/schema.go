package flowfile

import (
	_ "embed" // the schema
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the published JSON Schema of a flow's file, docs/flow.schema.json.
//
//go:embed flow.schema.json
var Schema []byte

// schema is the parsed one, and how to validate with it as a whole.
var schema = sync.OnceValues(func() (*shape, error) {
	var s shape
	if err := json.Unmarshal(Schema, &s.root); err != nil {
		return nil, fmt.Errorf("read the schema of flows: %w", err)
	}
	var err error
	s.whole, err = s.root.Resolve(nil)
	return &s, err
})

// shape says what a file must be like. The library judges values; what it is for is to say
// of all of them at once where they stand, which the library does not.
type shape struct {
	root  *jsonschema.Schema
	whole *jsonschema.Resolved
}

// check reports everything in a tree that is not as the schema says.
func (s *shape) check(n *node, r *report) {
	before := len(r.found)
	s.value(s.root, n, r)
	if len(r.found) > before {
		return
	}
	if err := s.whole.Validate(n.plain()); err != nil { // the library has the last word
		r.add(n, "", "%v", err)
	}
}

// deref follows a reference, with the words that stand beside it.
func (s *shape) deref(of *jsonschema.Schema) *jsonschema.Schema {
	for of.Ref != "" {
		of = s.root.Defs[strings.TrimPrefix(of.Ref, "#/$defs/")]
	}
	return of
}

func (s *shape) value(of *jsonschema.Schema, n *node, r *report) {
	of = s.deref(of)
	if of.AnyOf != nil {
		if of = s.alternative(of, n, r); of == nil {
			return
		}
	}
	if want := kindOf(of); want != "" && want != n.kind {
		hint := ""
		if want == isText && n.value != nil {
			hint = "in quotes it is a text"
		}
		r.add(n, hint, "it must be %s, and is %s", want, n.kind)
		return
	}
	switch {
	case n.kind == isObject:
		s.object(of, n, r)
	case n.kind == isList:
		for _, item := range n.items {
			s.value(of.Items, item, r)
		}
		s.leaf(of, n, r)
	default:
		s.leaf(of, n, r)
	}
}

// alternative is the one that a value's kind is for.
func (s *shape) alternative(of *jsonschema.Schema, n *node, r *report) *jsonschema.Schema {
	var kinds []string
	for _, a := range of.AnyOf {
		a = s.deref(a)
		if kindOf(a) == n.kind {
			return a
		}
		kinds = append(kinds, string(kindOf(a)))
	}
	r.add(n, "", "it must be %s, and is %s", strings.Join(kinds, " or "), n.kind)
	return nil
}

// kindOf is the kind of what a schema takes, empty if it takes several.
func kindOf(of *jsonschema.Schema) kind {
	switch of.Type {
	case "object":
		return isObject
	case "array":
		return isList
	case "string":
		return isText
	case "number", "integer":
		return isNumber
	case "boolean":
		return isTruth
	}
	return ""
}

func (s *shape) object(of *jsonschema.Schema, n *node, r *report) {
	for _, m := range n.members {
		property := of.Properties[m.name()]
		switch {
		case property != nil:
			s.value(property, m.value, r)
		case of.AdditionalProperties == nil || isFalse(of.AdditionalProperties):
			names := slices.Sorted(maps.Keys(of.Properties))
			hint := near(m.name(), names)
			if hint == "" {
				hint = "there are " + strings.Join(names, ", ")
			}
			r.add(m.key, hint, "there is no such field")
		default:
			if of.PropertyNames != nil {
				s.value(of.PropertyNames, m.key, r)
			}
			s.value(of.AdditionalProperties, m.value, r)
		}
	}
	for _, name := range of.Required {
		if n.get(name) == nil {
			r.add(n, "", "%s is missing", name)
		}
	}
	s.choice(of, n, r)
	s.number(of, n, r)
}

// choice is about members of which there must be exactly one.
func (s *shape) choice(of *jsonschema.Schema, n *node, r *report) {
	var names, there []string
	for _, one := range of.OneOf {
		names = append(names, one.Required...)
	}
	for _, name := range names {
		if n.get(name) != nil {
			there = append(there, name)
		}
	}
	switch {
	case len(names) == 0 || len(there) == 1:
	case len(there) == 0:
		r.add(n, "", "it needs one of %s", strings.Join(names, ", "))
	default:
		hint := "leave out all but one"
		if of == s.root.Defs["workflow"] {
			hint = "make a workflow of its own of each"
		}
		r.add(n, hint, "it can have only one of %s", strings.Join(there, ", "))
	}
}

// number is about how many members there are.
func (s *shape) number(of *jsonschema.Schema, n *node, r *report) {
	if of.MinProperties != nil && len(n.members) < *of.MinProperties {
		r.add(n, "there are "+strings.Join(slices.Sorted(maps.Keys(of.Properties)), ", "), "there is too little in it")
	}
	if of.MaxProperties != nil && len(n.members) > *of.MaxProperties {
		r.add(n, "", "there is more in it than %d", *of.MaxProperties)
	}
}

func isFalse(of *jsonschema.Schema) bool { return of.Not != nil }

// leaf has the library judge a value, or a list without regard to what is in it.
func (s *shape) leaf(of *jsonschema.Schema, n *node, r *report) {
	alone := *of
	alone.Items = nil
	resolved, err := alone.Resolve(nil)
	if err == nil {
		err = resolved.Validate(n.plain())
	}
	if err != nil {
		message, hint := explain(of, n)
		if message == "" {
			message = err.Error()
		}
		r.add(n, hint, "%s", message)
	}
}

// explain says in words what a value must be like.
func explain(of *jsonschema.Schema, n *node) (message, hint string) {
	switch {
	case of.Const != nil:
		return fmt.Sprintf("it must be %v", *of.Const), ""
	case len(of.Enum) > 0:
		names := make([]string, len(of.Enum))
		for i, e := range of.Enum {
			names[i] = fmt.Sprint(e)
		}
		return fmt.Sprintf("%v is none of %s", n.value, strings.Join(names, ", ")), near(fmt.Sprint(n.value), names)
	case of.Type == "integer" && !n.integer():
		return fmt.Sprintf("%s is no whole number", n.text()), ""
	case of.Minimum != nil && n.kind == isNumber && n.value.(float64) < *of.Minimum:
		return fmt.Sprintf("%s is less than %s", n.text(), number(*of.Minimum)), ""
	case of.Maximum != nil && n.kind == isNumber && n.value.(float64) > *of.Maximum:
		return fmt.Sprintf("%s is more than %s", n.text(), number(*of.Maximum)), ""
	case of.MinLength != nil && n.value == "":
		return "it is empty", ""
	case of.MinItems != nil && len(n.items) < *of.MinItems:
		return "the list is empty", ""
	case of.UniqueItems && n.kind == isList && len(n.items) > 0:
		return "something is in the list twice", ""
	case of.Pattern != "":
		return fmt.Sprintf("%q has not the form that it must have", n.value), formHint(of)
	}
	return "", ""
}

// formHint is what the schema says of a pattern.
func formHint(of *jsonschema.Schema) string {
	if of.Description != "" {
		return strings.TrimSuffix(strings.ToLower(of.Description[:1])+of.Description[1:], ".")
	}
	if strings.HasPrefix(of.Pattern, "^[A-Za-z][") {
		return "a name is a letter, and then letters, digits, _ and -"
	}
	return "it must match " + of.Pattern
}

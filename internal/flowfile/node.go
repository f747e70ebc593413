package flowfile

import (
	"fmt"
	"math"
	"strconv"
)

// kind is what sort of value a node is, by the word that people are told.
type kind string

const (
	isObject kind = "an object"
	isList   kind = "a list"
	isText   kind = "a text"
	isNumber kind = "a number"
	isTruth  kind = "true or false"
	isNull   kind = "nothing"
)

// node is a value and where it stands in a file.
type node struct {
	line, column int
	path         string // "agents.draft.tools[1]"
	kind         kind
	value        any // of a scalar
	members      []member
	items        []*node
}

// member is a name in an object, which stands somewhere too, and its value.
type member struct {
	key   *node // a text
	value *node
}

func (m member) name() string { return m.key.value.(string) }

// get returns the member of a name, nil if there is none.
func (n *node) get(name string) *node {
	if n != nil {
		for _, m := range n.members {
			if m.name() == name {
				return m.value
			}
		}
	}
	return nil
}

// at is the node at a path of names and numbers, or the last on the way there.
func (n *node) at(path ...any) *node {
	for _, step := range path {
		next := n.get(fmt.Sprint(step))
		if i, ok := step.(int); ok && i < len(n.items) {
			next = n.items[i]
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// plain is the value as encoding/json has it.
func (n *node) plain() any {
	switch n.kind {
	case isObject:
		out := make(map[string]any, len(n.members))
		for _, m := range n.members {
			out[m.name()] = m.value.plain()
		}
		return out
	case isList:
		out := make([]any, len(n.items))
		for i, item := range n.items {
			out[i] = item.plain()
		}
		return out
	}
	return n.value
}

// integer reports whether it is a whole number, of whatever size.
func (n *node) integer() bool {
	f, ok := n.value.(float64)
	return ok && f == math.Trunc(f)
}

// text is a scalar as people write it.
func (n *node) text() string {
	f, ok := n.value.(float64)
	if !ok {
		return fmt.Sprint(n.value)
	}
	return number(f)
}

// mostDigits is up to where a number is shown without an exponent.
const mostDigits = 24

func number(f float64) string {
	if s := strconv.FormatFloat(f, 'f', -1, 64); len(s) <= mostDigits {
		return s
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func below(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func element(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// scalars are the values of a node that hold no others, as texts.
func scalars(n *node) (all []string) {
	if n.kind == isObject || n.kind == isList {
		for _, item := range n.items {
			all = append(all, scalars(item)...)
		}
		return all
	}
	return []string{n.text()}
}

package tool

import "github.com/google/jsonschema-go/jsonschema"

// schemaWork counts what checking a value would take, before it is done: it goes wherever
// the library may go. A schema that is harmless for one value is not for another, for the
// parts of both can be within themselves.
type schemaWork struct {
	schema *Schema
	left   int
}

// visit counts one schema applied to one value, and all that it leads to. It reports
// whether there is room for it. An error there is written once at each step on the way.
func (w *schemaWork) visit(s *jsonschema.Schema, value any, depth int) bool {
	n := w.schema.nodes[s]
	w.left -= depth * (64 + n.weight + textSize(value))
	if text, ok := value.(string); ok {
		w.left -= n.pattern * len(text)
	}
	if w.left < 0 || depth > depthLimit {
		return false
	}
	for _, sub := range n.also {
		if !w.visit(sub, value, depth+1) {
			return false
		}
	}
	switch v := value.(type) {
	case []any:
		return w.items(s, v, depth+1)
	case map[string]any:
		return w.properties(s, n, v, depth+1)
	}
	return true
}

func (w *schemaWork) items(s *jsonschema.Schema, list []any, depth int) bool {
	for i, item := range list {
		subs := []*jsonschema.Schema{s.Contains}
		for _, first := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			if i < len(first) {
				subs = append(subs, first[i])
			}
		}
		if len(subs) == 1 {
			subs = append(subs, s.Items, s.AdditionalItems, s.UnevaluatedItems)
		}
		if !w.each(subs, item, depth) {
			return false
		}
	}
	return true
}

func (w *schemaWork) properties(s *jsonschema.Schema, n *schemaNode, object map[string]any, depth int) bool {
	for key, value := range object {
		w.left -= n.pattern * len(key)
		subs := []*jsonschema.Schema{s.Properties[key]}
		if subs[0] == nil {
			subs = append(subs, s.AdditionalProperties, s.UnevaluatedProperties)
		}
		for _, sub := range s.PatternProperties {
			subs = append(subs, sub)
		}
		if !w.each(subs, value, depth) || !w.each([]*jsonschema.Schema{s.PropertyNames}, key, depth) {
			return false
		}
	}
	return true
}

func (w *schemaWork) each(subs []*jsonschema.Schema, value any, depth int) bool {
	for _, sub := range subs {
		if sub != nil && !w.visit(sub, value, depth) {
			return false
		}
	}
	return true
}

// textSize is about how long a value is when it is written down.
func textSize(value any) int {
	const punctuation = 8
	size := punctuation
	switch v := value.(type) {
	case string:
		size += len(v)
	case []string:
		for _, one := range v {
			size += punctuation + len(one)
		}
	case []any:
		for _, one := range v {
			size += textSize(one)
		}
	case map[string]any:
		for key, one := range v {
			size += len(key) + textSize(one)
		}
	}
	return size
}

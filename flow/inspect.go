package flow

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
)

// Child is a workflow within another, under the name of the field, index or key that
// holds it: "Draft", "Branches[1]", `Routes["tech"]`.
type Child struct {
	Name     string
	Workflow Workflow
}

// Children returns the workflows that w holds directly in exported fields, slices,
// arrays and maps, in the order of the fields and of the keys. A field that is nil and has
// the tag `flow:"optional"` holds none. An agent holds those, too, that are tools of it: see
// [AsTool].
func Children(w Workflow) []Child {
	var c collector
	v := reflect.ValueOf(w)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	c.inside("", v)
	if a, ok := w.(*Agent); ok && a != nil {
		c.found = append(c.found, a.delegates()...)
	}
	return c.found
}

// Inspect yields w and every workflow below it, each with its path from w, parents
// before children. A workflow that several parents hold comes once for each of them; one
// that holds itself is not entered again.
func Inspect(w Workflow) iter.Seq2[string, Workflow] {
	return func(yield func(string, Workflow) bool) {
		walk(rootOf(w), nil, func(path []Child, cycle bool) bool {
			return cycle || yield(pathOf(path), path[len(path)-1].Workflow)
		})
	}
}

func rootOf(w Workflow) Child { return Child{"", orNil(w)} }

// orNil returns nil for a nil pointer, which an interface would hide.
func orNil(w Workflow) Workflow {
	if v := reflect.ValueOf(w); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	return w
}

// walk visits the tree depth first with the path to each workflow, until visit says no.
// A workflow that is among its own ancestors is visited as a cycle and not entered.
func walk(c Child, path []Child, visit func(path []Child, cycle bool) bool) bool {
	cycle := slices.ContainsFunc(path, func(p Child) bool { return same(p.Workflow, c.Workflow) })
	path = append(path, c)
	if !visit(path, cycle) {
		return false
	}
	if cycle {
		return true
	}
	for _, child := range Children(c.Workflow) {
		if !walk(child, path, visit) {
			return false
		}
	}
	return true
}

func pathOf(path []Child) string {
	var names []string
	for _, c := range path[1:] {
		names = append(names, c.Name)
	}
	return strings.Join(names, ".")
}

// same reports whether two workflows are one and the same object, not whether they
// are equal.
func same(a, b Workflow) bool { return identical(reflect.ValueOf(a), reflect.ValueOf(b)) }

// identical reports whether two values are one object or, where they are structs, hold
// the same ones.
func identical(x, y reflect.Value) bool {
	if !x.IsValid() || !y.IsValid() {
		return x.IsValid() == y.IsValid()
	}
	if x.Type() != y.Type() {
		return false
	}
	switch x.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func:
		return x.Pointer() == y.Pointer()
	case reflect.Slice:
		return x.Len() == y.Len() && x.Pointer() == y.Pointer()
	case reflect.Interface:
		return identical(x.Elem(), y.Elem())
	case reflect.Struct:
		return every(x.NumField(), func(i int) bool { return identical(x.Field(i), y.Field(i)) })
	case reflect.Array:
		return every(x.Len(), func(i int) bool { return identical(x.Index(i), y.Index(i)) })
	}
	return x.Equal(y)
}

func every(n int, ok func(int) bool) bool {
	for i := range n {
		if !ok(i) {
			return false
		}
	}
	return true
}

// collector looks for the workflows directly in one.
type collector struct {
	found []Child
	open  []container // that the search is in
}

// container is a slice or a map.
type container struct {
	of reflect.Type
	at uintptr
}

var workflowType = reflect.TypeFor[Workflow]()

// value takes v if it is a workflow and looks inside it if it may hold some.
func (c *collector) value(name string, v reflect.Value) {
	if v.Type().Implements(workflowType) && v.CanInterface() {
		w, _ := v.Interface().(Workflow)
		c.found = append(c.found, Child{name, orNil(w)})
		return
	}
	if v.CanAddr() && v.Addr().Type().Implements(workflowType) && v.Addr().CanInterface() {
		c.found = append(c.found, Child{name, v.Addr().Interface().(Workflow)})
		return
	}
	c.inside(name, v)
}

// inside looks for workflows in the fields, elements or values of v. It does not follow
// pointers: what lies behind one is not part of the module. Nor does it enter a slice or
// a map that it is in already.
func (c *collector) inside(name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		c.fields(name, v)
	case reflect.Array:
		c.elements(name, v)
	case reflect.Slice, reflect.Map:
		k := container{v.Type(), v.Pointer()}
		if slices.Contains(c.open, k) {
			return
		}
		c.open = append(c.open, k)
		if v.Kind() == reflect.Map {
			c.entries(name, v)
		} else {
			c.elements(name, v)
		}
		c.open = c.open[:len(c.open)-1]
	}
}

func (c *collector) fields(name string, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Tag.Get("flow") == "optional" && v.Field(i).IsZero() {
			continue
		}
		c.value(join(name, f.Name), v.Field(i))
	}
}

func (c *collector) elements(name string, v reflect.Value) {
	for i := range v.Len() {
		c.value(fmt.Sprintf("%s[%d]", name, i), v.Index(i))
	}
}

func (c *collector) entries(name string, v reflect.Value) {
	keys := v.MapKeys()
	text := func(k reflect.Value) string { return fmt.Sprintf("%#v", k) }
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(text(a), text(b)) })
	for _, k := range keys {
		c.value(name+"["+text(k)+"]", v.MapIndex(k))
	}
}

func join(name, field string) string {
	if name == "" {
		return field
	}
	return name + "." + field
}

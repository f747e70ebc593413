package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openrath-go/rath/store"
)

// Divergence says where a program first did something else than its record tells.
type Divergence struct {
	Path string // of the workflow
	Kind string // of the effect that was asked for, "model", or of the one that was not
	Name string

	// Missing says that the program came to its end without the effect that the record
	// has here.
	Missing bool
	// Nearest is the recorded effect that comes nearest, nil if there is none.
	Nearest *store.Effect
	// Field is where the effect first differs from it, "input.tools[read].schema.type".
	Field           string
	Recorded, Asked string // the JSON there, shortened
}

func (d *Divergence) Error() string {
	what := strings.TrimSpace(d.Kind + " " + d.Name)
	if d.Path != "" {
		what = d.Path + ": " + what
	}
	switch {
	case d.Missing:
		return fmt.Sprintf("diverged at %s: the record has effect %d here, and the program did not come to it", what, d.Nearest.ID)
	case d.Nearest == nil:
		return fmt.Sprintf("diverged at %s: the record has nothing more here", what)
	}
	return fmt.Sprintf("diverged at %s: %s is %s; in the record (effect %d, %s) it is %s",
		what, d.Field, d.Asked, d.Nearest.ID, strings.TrimSpace(d.Nearest.Path+" "+d.Nearest.Kind+" "+d.Nearest.Name), d.Recorded)
}

// Hint says what it means.
func (d *Divergence) Hint() string {
	return "the program is not the one that was recorded, or it does something that passes no effect (time, chance, files, the network)"
}

// diverged compares an intent that is not on record with the recorded effect that comes
// nearest: the one that its place waits for, or one that is alike elsewhere.
func (r *record) diverged(in store.Intent, input json.RawMessage, pending *store.Effect) error {
	d := &Divergence{Path: in.Path, Kind: in.Kind, Name: in.Name, Nearest: pending}
	if d.Nearest == nil {
		d.Nearest = r.alike(in)
	}
	if d.Nearest == nil {
		return d
	}
	known, err := store.Unpack(d.Nearest.Input, r.get)
	if err != nil {
		return err
	}
	d.Field, d.Recorded, d.Asked = difference(described(d.Nearest.Intent, known), described(in, input))
	return d
}

// alike finds an unused effect that has most in common with an intent.
func (r *record) alike(in store.Intent) (best *store.Effect) {
	points := 0
	for _, x := range r.list {
		p := 0
		for _, same := range []bool{x.Kind == in.Kind, x.Name == in.Name, x.Digest == in.Digest, x.Path == in.Path} {
			if same {
				p++
			}
		}
		if !r.used[x] && x.Kind == in.Kind && p > points {
			best, points = x, p
		}
	}
	return best
}

// described is an intent as a value to compare, in the order of importance.
func described(i store.Intent, input json.RawMessage) []member {
	return []member{
		{"path", i.Path}, {"kind", i.Kind}, {"name", i.Name}, {"input", decode(input)}, {"occurrence", float64(i.Occurrence)},
	}
}

type member struct {
	name  string
	value any
}

func decode(raw json.RawMessage) (v any) {
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return v
}

// difference finds the first field in which two intents differ.
func difference(a, b []member) (field, inA, inB string) {
	for i := range a {
		if f, x, y, differ := firstDifference(a[i].name, a[i].value, b[i].value); differ {
			return f, show(x), show(y)
		}
	}
	return "", "", ""
}

// absent stands for a member that is not there.
type absent struct{}

// firstDifference walks two JSON values down to where they differ.
func firstDifference(path string, a, b any) (field string, inA, inB any, differ bool) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return differentMember(path, a, b)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return differentElement(path, a, b)
		}
	default:
		if !isContainer(b) && a == b {
			return "", nil, nil, false
		}
	}
	return path, a, b, true
}

func isContainer(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func differentMember(path string, a, b map[string]any) (string, any, any, bool) {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		x, y := orAbsent(a, name), orAbsent(b, name)
		if f, x, y, differ := firstDifference(path+"."+name, x, y); differ {
			return f, x, y, true
		}
	}
	return "", nil, nil, false
}

func orAbsent(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	return absent{}
}

func differentElement(path string, a, b []any) (string, any, any, bool) {
	for i := range max(len(a), len(b)) {
		x, y := any(absent{}), any(absent{})
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if f, x, y, differ := firstDifference(path+"["+label(i, x, y)+"]", x, y); differ {
			return f, x, y, true
		}
	}
	return "", nil, nil, false
}

// label names an element by its name where it has the same in both, as tools do.
func label(i int, a, b any) string {
	x, _ := a.(map[string]any)
	y, _ := b.(map[string]any)
	if name, ok := x["name"].(string); ok && y["name"] == name {
		return name
	}
	return fmt.Sprint(i)
}

// show is a value in an error message.
func show(v any) string {
	const most = 120
	if _, ok := v.(absent); ok {
		return "not there"
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSpace(b.String())
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

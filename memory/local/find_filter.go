package local

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// filter is the part of a query that notes keep to whatever their words are, as a
// condition on notes n.
type filter struct {
	where  []string
	args   []any
	narrow bool // an index finds the notes that pass
}

func newFilter(q driver.Query) (filter, error) {
	var f filter
	if !q.Ended {
		f.add("n.until = 0")
	}
	f.under(q.Under)
	if !q.Since.IsZero() {
		f.narrow = true
		f.add("n.time >= ?", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		f.narrow = true
		f.add("n.time < ?", nanos(q.Until))
	}
	for _, key := range sortedKeys(q.Meta) {
		f.add("EXISTS (SELECT 1 FROM json_each(n.meta) m WHERE m.key = ? AND m.value = ?)", key, q.Meta[key])
	}
	if len(q.Trust) > 0 {
		labels, err := json.Marshal(q.Trust)
		if err != nil {
			return f, err
		}
		f.add("coalesce(n.trust, '') IN (SELECT value FROM json_each(?))", string(labels))
	}
	return f, nil
}

func (f *filter) add(condition string, args ...any) {
	f.where = append(f.where, condition)
	f.args = append(f.args, args...)
}

// under keeps to folders.
func (f *filter) under(folders []driver.URI) {
	if len(folders) == 0 || slices.Contains(folders, driver.Root) {
		return
	}
	var any []string
	for _, folder := range folders {
		low, high := below(folder)
		any = append(any, "n.uri = ? OR n.uri > ? AND n.uri < ?")
		f.args = append(f.args, string(folder), low, high)
	}
	f.narrow = true
	f.where = append(f.where, "("+strings.Join(any, " OR ")+")")
}

// sql is the condition.
func (f *filter) sql() string {
	if len(f.where) == 0 {
		return "TRUE"
	}
	return strings.Join(f.where, " AND ")
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

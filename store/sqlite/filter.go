package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/openrath-go/rath/session"
)

// filter is the WHERE clause of a query.
type filter struct {
	terms []string
	args  []any
}

func (f *filter) add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.args = append(f.args, args...)
}

func (f *filter) String() string {
	if len(f.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(f.terms, " AND ")
}

// prefix chooses ids by how they begin in their usual form. Nothing begins with what is
// no beginning of an id.
func (f *filter) prefix(column, text string) {
	if text == "" {
		return
	}
	const first, last = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"
	text = strings.ToLower(text)
	n := min(len(text), len(first))
	low, err := session.ParseID(text + first[n:])
	high, err2 := session.ParseID(text + last[n:])
	if err != nil || err2 != nil || len(text) > n {
		f.add("FALSE")
		return
	}
	f.add(column+" BETWEEN ? AND ?", low[:], high[:])
}

// related chooses sessions and those that are above or below them in the graph.
func (f *filter) related(ids []session.ID, from, to string) {
	if len(ids) == 0 {
		return
	}
	f.add(`s.id IN (WITH RECURSIVE related (id) AS (
	SELECT unhex(value) FROM json_each(?)
	UNION SELECT e.`+to+` FROM related JOIN edges e ON e.`+from+` = related.id
) SELECT id FROM related)`, hexList(ids))
}

// hexList writes ids for json_each: SQLite takes no lists as arguments.
func hexList(ids []session.ID) string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = hex.EncodeToString(id[:])
	}
	list, _ := json.Marshal(all) // strings do not fail
	return string(list)
}

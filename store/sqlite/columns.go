package sqlite

import (
	"encoding/binary"
	"encoding/json"
	"time"

	"github.com/openrath-go/rath/session"
)

// Times are kept in microseconds since 1970; 0 is the zero time.

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// What is empty is kept as NULL.

func textColumn[T ~string](s T) any {
	if s == "" {
		return nil
	}
	return string(s)
}

func bytesColumn[T ~[]byte](b T) any {
	if len(b) == 0 {
		return nil
	}
	return []byte(b)
}

func idColumn(id session.ID) any {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

// runColumn keeps the id of a run short, and other text as it is.
func runColumn(run string) any {
	if id, err := session.ParseID(run); err == nil && id.String() == run {
		return id[:]
	}
	return textColumn(run)
}

func fromRunColumn(v any) string {
	switch v := v.(type) {
	case []byte:
		return session.ID(v).String()
	case string:
		return v
	}
	return ""
}

func roleColumn(r session.Role) any {
	if r == session.RoleInput {
		return nil
	}
	return string(r)
}

// usageColumn packs the numbers of a usage as varints.
func usageColumn(u session.Usage) any {
	if u == (session.Usage{}) {
		return nil
	}
	var b []byte
	for _, n := range numbers(&u) {
		b = binary.AppendVarint(b, *n)
	}
	return b
}

func fromUsageColumn(b []byte) (u session.Usage) {
	for _, n := range numbers(&u) {
		v, size := binary.Varint(b)
		if size <= 0 {
			break
		}
		*n, b = v, b[size:]
	}
	return u
}

// numbers lists the fields in the order in which they are kept. New ones come last.
func numbers(u *session.Usage) [9]*int64 {
	return [...]*int64{&u.Calls, &u.Unreported, &u.Input, &u.Output, &u.CacheRead, &u.CacheWrite, &u.Reasoning, &u.Cost.Nano, &u.Cost.Unpriced}
}

// sessionRow gives the columns of a session in the order of insertSession.
func sessionRow(r session.Record, tip int64) ([]any, error) {
	var placement, extras []byte
	var err error
	if r.Placement.Backend != "" {
		if placement, err = json.Marshal(r.Placement); err != nil {
			return nil, err
		}
	}
	if len(r.Lineage.Extras) > 0 {
		if extras, err = json.Marshal(r.Lineage.Extras); err != nil {
			return nil, err
		}
	}
	l, digest := r.Lineage, r.Content.Digest()
	return []any{
		r.ID[:], tip, r.Content.Len(), digest[:], l.Op.String(), textColumn(l.Path), runColumn(l.Run), micros(l.Time),
		usageColumn(r.Usage), bytesColumn(placement), bytesColumn(extras),
	}, nil
}

func fromRoleColumn(text []byte) session.Role {
	if text == nil {
		return session.RoleInput
	}
	return session.Role(text)
}

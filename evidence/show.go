package evidence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// pretty lays JSON out to be read. What is no JSON stays as it is.
func pretty(s string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(s), "", "  ") == nil {
		s = b.String()
	}
	return visible(s)
}

// clip keeps the beginning of a text that is whole elsewhere.
func clip(s string) string {
	const most = 1200
	if len(s) <= most {
		return s
	}
	n := most
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[… %d bytes more]", s[:n], len(s)-n)
}

// visible shows characters that would not be seen, or that would make others look like
// what they are not.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !hidden(r):
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune(0x2400 + r) // a picture of it
		default:
			fmt.Fprintf(&b, "[U+%04X]", r)
		}
	}
	return b.String()
}

// hidden characters are controls, and what changes the direction of text.
func hidden(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 ||
		0x200e <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 ||
		r == 0x061c || r == 0x200b || r == 0xfeff || 0xe0000 <= r && r <= 0xe007f
}

func shortDigest(d session.Digest) string { return d.String()[:12] }

func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// took shows a duration of so many microseconds with three digits.
func took(us int64) string {
	switch d := time.Duration(us) * time.Microsecond; {
	case us == 0:
		return "–"
	case d < time.Millisecond:
		return d.String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Minute:
		return d.Round(10 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

// tokens shows how many were used. What a server did not report is not nothing.
func tokens(u session.Usage) string {
	switch {
	case u.Calls == 0:
		return "none"
	case u.Unreported == u.Calls:
		return "unknown"
	case u.Unreported > 0:
		return fmt.Sprintf("%d in, %d out, and %s not reported", u.Input, u.Output, count(int(u.Unreported), "call"))
	}
	return fmt.Sprintf("%d in, %d out", u.Input, u.Output)
}

// cost shows dollars. What has no price is not free.
func cost(c session.Cost) string {
	usd := fmt.Sprintf("$%.6f", float64(c.Nano)/1e9)
	switch {
	case c.Known():
		return usd
	case c.Nano == 0:
		return "price unknown"
	}
	return fmt.Sprintf("%s and %s of unknown price", usd, count(int(c.Unpriced), "call"))
}

// used shows cost and tokens together.
func used(u session.Usage) string {
	switch {
	case u.Calls == 0:
		return "nothing"
	case u.Unreported == u.Calls:
		return cost(u.Cost) + ", tokens unknown"
	}
	return cost(u.Cost) + ", " + strings.Replace(tokens(u), " in,", " tokens in,", 1)
}

// tokenDetails are the parts of the tokens that have prices of their own.
func tokenDetails(u session.Usage) string {
	var parts []string
	for _, p := range []struct {
		n    int64
		name string
	}{{u.CacheRead, "read from cache"}, {u.CacheWrite, "written to cache"}, {u.Reasoning, "reasoning"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.name))
		}
	}
	return strings.Join(parts, ", ")
}

// score shows a number that others are compared with.
func score(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

// trust says who said a note.
func trust(label string) string { return cmp.Or(label, "unknown") }

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// orDash is for cells of tables that would be empty.
func orDash(v any) string {
	if s := visible(fmt.Sprint(v)); s != "" {
		return s
	}
	return "–"
}

// describe says what an event tells, in a few words.
func describe(e Event) string {
	var b struct {
		Path, Kind, Name, State, Error, Verdict, Key, Owner, Program string
		Trace, Span                                                  string
		Effect, Occurrence, Attempt                                  int64
		ID                                                           string
		Cancelled, Settled                                           bool
	}
	_ = json.Unmarshal(e.Body, &b) // other kinds have bodies of their own
	effect := strings.TrimSpace(b.Path + " " + b.Kind + " " + b.Name)
	var parts []string
	add := func(ok bool, format string, args ...any) {
		if ok {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	switch e.Kind {
	case store.EventIntent, store.EventNoted:
		add(true, "%s", effect)
		add(b.Attempt > 0, "attempt %d", b.Attempt+1)
		add(b.Settled, "settled")
	case store.EventResult, store.EventSettled:
		add(true, "of effect %d", b.Effect)
		add(b.Verdict != "", "%s", b.Verdict)
		add(b.Cancelled, "cancelled")
	default:
		add(b.Name != "", "%s", b.Name)
		add(b.State != "", "%s", b.State)
		add(b.Key != "", "%s", b.Key)
		add(e.Kind == store.EventSession, "%s %s", b.ID, b.Path)
		add(b.Owner != "", "driven by %s", b.Owner)
		add(e.Kind == store.EventTrace, "trace %s, span %s", b.Trace, b.Span)
	}
	add(b.Error != "", "%s", b.Error)
	return visible(strings.Join(parts, ", "))
}

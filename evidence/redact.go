package evidence

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// mark is what stands in the place of the value.
func (r Redaction) mark() string { return fmt.Sprintf("[redacted sha256:%.16s]", r.Digest) }

// marks are what redaction leaves. It is not redacted again.
var marks = regexp.MustCompile(`\[redacted sha256:[0-9a-f]{16}\]`)

// redactor takes secrets out of JSON.
type redactor struct {
	rules []rule
	found map[session.Digest]*Redaction
}

func newRedactor(patterns []*regexp.Regexp) *redactor {
	r := &redactor{rules: slices.Clone(rules), found: map[session.Digest]*Redaction{}}
	for i, p := range patterns {
		r.rules = append(r.rules, rule{name: fmt.Sprintf("pattern %d", i), pattern: p})
	}
	return r
}

// list returns what was taken out.
func (r *redactor) list() (all []Redaction) {
	for _, f := range r.found {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b Redaction) int {
		return cmp.Or(cmp.Compare(a.Rule, b.Rule), bytes.Compare(a.Digest[:], b.Digest[:]))
	})
	return all
}

// take returns what stands for a secret.
func (r *redactor) take(secret, rule string) string {
	d := session.Digest(sha256.Sum256([]byte(secret)))
	if r.found[d] == nil {
		r.found[d] = &Redaction{Digest: d, Rule: rule}
	}
	r.found[d].Times++
	return r.found[d].mark()
}

// span is a secret's place in a text.
type span struct {
	from, to int
	rule     string
}

// text returns a text without its secrets. All rules see the text as it was; secrets
// that overlap are one.
func (r *redactor) text(s string) string {
	spans := r.find(s)
	if len(spans) == 0 {
		return s
	}
	var b bytes.Buffer
	end := 0
	for i := 0; i < len(spans); {
		from, to, rule := spans[i].from, spans[i].to, spans[i].rule
		for i++; i < len(spans) && spans[i].from < to; i++ {
			to = max(to, spans[i].to)
		}
		b.WriteString(s[end:from])
		b.WriteString(r.take(s[from:to], rule))
		end = to
	}
	b.WriteString(s[end:])
	return b.String()
}

// find returns the secrets of a text in their order.
func (r *redactor) find(s string) []span {
	spans := r.search(s, 0)
	if len(spans) == 0 {
		return nil
	}
	done := marks.FindAllStringIndex(s, -1)
	spans = slices.DeleteFunc(spans, func(a span) bool {
		return slices.ContainsFunc(done, func(m []int) bool { return m[0] <= a.from && a.to <= m[1] })
	})
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return spans
}

// mostEscaped is how often a text may be escaped for secrets to be found in it: JSON in
// JSON in JSON.
const mostEscaped = 8

// search finds secrets in a text as it is, and as it is without its escapes.
func (r *redactor) search(s string, depth int) (spans []span) {
	for _, rule := range r.rules {
		for _, m := range rule.pattern.FindAllStringSubmatchIndex(s, -1) {
			if from, to := rule.secretIn(s, m); from < to {
				spans = append(spans, span{from, to, rule.name})
			}
		}
	}
	if depth == mostEscaped {
		return spans
	}
	if plain, places := unescape(s); len(places) > 0 {
		for _, at := range r.search(plain, depth+1) {
			spans = append(spans, span{places.start(at.from), places.end(at.to), at.rule})
		}
	}
	return spans
}

// json returns JSON without secrets, in canonical form if there were any.
func (r *redactor) json(raw json.RawMessage) (redacted json.RawMessage, changed bool, err error) {
	var out bytes.Buffer
	w := walker{visit: r.string, dec: jsontext.NewDecoder(bytes.NewReader(raw)), enc: jsontext.NewEncoder(&out)}
	if err := w.value(""); err != nil || !w.changed {
		return raw, false, err
	}
	v := jsontext.Value(out.Bytes())
	err = v.Canonicalize()
	return json.RawMessage(v), true, err
}

// string redacts a string that is the member of a name, or the name itself.
func (r *redactor) string(name, s string) string {
	switch {
	case s == "" || structural(name, s):
		return s
	case marks.FindString(s) == s:
		return s
	case namesSecret(name):
		return r.take(s, "named")
	}
	return r.text(r.embedded(s))
}

// embedded redacts a text that is JSON as the JSON that it is. Names and files are told
// there from other text.
func (r *redactor) embedded(s string) string {
	if t := strings.TrimSpace(s); t == "" || t[0] != '{' && t[0] != '[' || !json.Valid([]byte(t)) {
		return s
	}
	var out bytes.Buffer
	lax := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)} // nobody canonicalized it
	w := walker{visit: r.string, dec: jsontext.NewDecoder(strings.NewReader(s), lax...), enc: jsontext.NewEncoder(&out, lax...)}
	if w.value("") != nil || !w.changed {
		return s
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// walker copies JSON and has every string, and the text in every file, replaced.
type walker struct {
	visit   func(name, s string) string
	dec     *jsontext.Decoder
	enc     *jsontext.Encoder
	changed bool
}

// value copies a value that is the member of the name.
func (w *walker) value(name string) error {
	token, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	switch token.Kind() {
	case jsontext.KindString:
		return w.enc.WriteToken(jsontext.String(w.string(name, token.String())))
	case jsontext.KindNumber:
		if namesSecret(name) {
			return w.number(name, token)
		}
	case jsontext.KindBeginObject:
		return w.container(token, jsontext.KindEndObject, w.member)
	case jsontext.KindBeginArray:
		return w.container(token, jsontext.KindEndArray, func() error { return w.value(name) })
	}
	return w.enc.WriteToken(token)
}

// number replaces a number. All but a secret name's stay, for the records are read again.
func (w *walker) number(name string, token jsontext.Token) error {
	n := token.String()
	if out := w.replace(name, n); out != n {
		return w.enc.WriteToken(jsontext.String(out))
	}
	return w.enc.WriteToken(token)
}

func (w *walker) container(begin jsontext.Token, end jsontext.Kind, element func() error) error {
	if err := w.enc.WriteToken(begin); err != nil {
		return err
	}
	for w.dec.PeekKind() != end {
		if err := element(); err != nil {
			return err
		}
	}
	token, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	return w.enc.WriteToken(token)
}

func (w *walker) member() error {
	token, err := w.dec.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	if err := w.enc.WriteToken(jsontext.String(w.replace("", name))); err != nil {
		return err
	}
	return w.value(name)
}

func (w *walker) replace(name, s string) string {
	out := w.visit(name, s)
	w.changed = w.changed || out != s
	return out
}

// string replaces a string. The data of a file is visited as the text that it is.
func (w *walker) string(name, s string) string {
	if name == "data" {
		if raw, err := base64.StdEncoding.DecodeString(s); err == nil && utf8.Valid(raw) {
			if text := w.replace("", string(raw)); text != string(raw) {
				return base64.StdEncoding.EncodeToString([]byte(text))
			}
			return s
		}
	}
	return w.replace(name, s)
}

var word = regexp.MustCompile(`^[a-z_]{1,24}$`)

// structural reports whether a string is what the records themselves hang together by,
// whatever a caller's patterns make of it.
func structural(name, s string) bool {
	switch name {
	case "$object", "digest", "hash", "redacted":
		return new(session.Digest).UnmarshalText([]byte(s)) == nil
	case "id", "run", "input", "output", "source", "session":
		_, err := session.ParseID(s)
		return err == nil
	case "kind", "class", "state", "op", "role", "outcome", "verdict":
		return word.MatchString(s)
	case "time", "asked", "expires", "decided", "deadline", "created", "since", "until", "now":
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	}
	return false
}

// records takes the secrets out of all that is kept.
func (r *redactor) records(rec *Records) error {
	for i := range rec.Contents {
		if err := r.content(&rec.Contents[i]); err != nil {
			return fmt.Errorf("redact content %s: %w", rec.Contents[i].Digest, err)
		}
	}
	if err := r.plain(&rec.Sessions); err != nil {
		return fmt.Errorf("redact sessions: %w", err)
	}
	for i := range rec.Runs {
		run := &rec.Runs[i]
		var before store.Head
		for j := range run.Events {
			if err := r.event(&run.Events[j], before); err != nil {
				return fmt.Errorf("redact event %d of run %s: %w", run.Events[j].Seq, run.ID, err)
			}
			before = run.Events[j].Head()
		}
		if err := r.plain(&run.Interrupts); err != nil {
			return fmt.Errorf("redact the questions of run %s: %w", run.ID, err)
		}
	}
	return nil
}

func (r *redactor) content(c *Content) error {
	out, changed, err := r.json(c.Value)
	if err != nil || !changed {
		return err
	}
	c.Value, c.Redacted = out, sha256.Sum256(out)
	return nil
}

func (r *redactor) event(e *Event, before store.Head) error {
	out, changed, err := r.json(e.Body)
	if err != nil || !changed {
		return err
	}
	standing, err := before.Next(e.Kind, e.Time, out)
	e.Body, e.Redacted = standing.Body, standing.Hash
	return err
}

// plain redacts what no digest is known of.
func (r *redactor) plain(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out, changed, err := r.json(raw)
	if err != nil || !changed {
		return err
	}
	return json.Unmarshal(out, v)
}

package evidence

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Count says how much of something was recomputed from what it is the digest of, and of
// how much the record only says so, because something in it was redacted.
type Count struct {
	Verified int `json:"verified"`
	Attested int `json:"attested"`
}

func (c *Count) add(verified bool) {
	if verified {
		c.Verified++
	} else {
		c.Attested++
	}
}

// Checked counts what was checked in records.
type Checked struct {
	Events   Count `json:"events"`
	Contents Count `json:"contents"`
	Links    Count `json:"links"`
	Sessions Count `json:"sessions"`
}

// Mismatch says what in a dossier is not what it says it is.
type Mismatch struct {
	Where   string // "event 5 of run 0198…"
	Problem string
}

func (e *Mismatch) Error() string { return e.Where + ": " + e.Problem }

// Hint says what it means.
func (e *Mismatch) Hint() string {
	return "the file, or the store that it was made of, was changed after it was written"
}

// mostProblems is how many mismatches are reported.
const mostProblems = 8

// checker recomputes the digests of records.
type checker struct {
	*Records
	marks    map[string]bool // of the listed redactions
	counts   Checked
	problems []error
	more     int
	intact   map[session.Digest]bool // contents and links, whether they were recomputed
	depth    map[session.Digest]int  // of links
	heads    map[session.ID]*session.Head
}

// check recomputes everything that can be. The error names what is wrong.
func (r *Records) check(redactions []Redaction) (Checked, error) {
	c := &checker{
		Records: r, marks: map[string]bool{}, intact: map[session.Digest]bool{},
		depth: map[session.Digest]int{}, heads: map[session.ID]*session.Head{},
	}
	for _, x := range redactions {
		c.marks[x.mark()] = true
	}
	c.checkContents()
	c.checkLinks()
	c.checkSessions()
	for i := range r.Runs {
		c.checkRun(&r.Runs[i])
	}
	if c.more > 0 {
		c.problems = append(c.problems, fmt.Errorf("and %d more", c.more))
	}
	return c.counts, errors.Join(c.problems...)
}

func (c *checker) problem(where, format string, args ...any) {
	if len(c.problems) == mostProblems {
		c.more++
		return
	}
	c.problems = append(c.problems, &Mismatch{where, fmt.Sprintf(format, args...)})
}

func (c *checker) checkContents() {
	for i := range c.Contents {
		v := &c.Contents[i]
		where := "content " + v.Digest.String()
		if _, twice := c.intact[v.Digest]; twice {
			c.problem(where, "it comes twice")
		}
		redacted := v.Redacted != (session.Digest{})
		want := v.Digest
		if redacted {
			want = v.Redacted
			c.checkRedacted(where, v.Value)
		}
		if got := session.Digest(sha256.Sum256(v.Value)); got != want {
			c.problem(where, "the SHA-256 of what is there is %s", got)
		}
		c.intact[v.Digest] = !redacted
		c.counts.Contents.add(!redacted)
	}
}

// checkRedacted wants that something that is marked has one of the listed values in it.
func (c *checker) checkRedacted(where string, value json.RawMessage) {
	found := false
	look := walker{dec: jsontext.NewDecoder(bytes.NewReader(value)), enc: jsontext.NewEncoder(io.Discard)}
	look.visit = func(_, s string) string {
		found = found || slices.ContainsFunc(marks.FindAllString(s, -1), func(m string) bool { return c.marks[m] })
		return s
	}
	if err := look.value(""); err != nil || !found {
		c.problem(where, "it is marked as redacted, and no redacted value is in it")
	}
}

func (c *checker) checkLinks() {
	values := map[session.Digest]json.RawMessage{}
	for i := range c.Contents {
		values[c.Contents[i].Digest] = c.Contents[i].Value
	}
	for _, l := range c.Links {
		where := "transcript " + l.Digest.String()
		before, known := c.depth[l.Before]
		if l.Before != (session.Digest{}) && !known {
			c.problem(where, "the link before it, %s, does not come before it", l.Before)
		}
		value, ok := values[l.Chunk]
		if !ok {
			c.problem(where, "its chunk %s is not there", l.Chunk)
			continue
		}
		if c.intact[l.Chunk] {
			if got := session.Digest(sha256.Sum256(append(l.Before[:], value...))); got != l.Digest {
				c.problem(where, "the digest computed from its chunks is %s", got)
			}
		}
		_, twice := c.depth[l.Digest]
		if twice || l.Digest == (session.Digest{}) {
			c.problem(where, "it comes twice, or has no digest")
		}
		c.depth[l.Digest] = before + 1
		c.intact[l.Digest] = c.intact[l.Chunk] && (before == 0 || c.intact[l.Before])
		c.counts.Links.add(c.intact[l.Chunk])
	}
}

func (c *checker) checkSessions() {
	none := session.Digest{}
	for i := range c.Sessions {
		h := &c.Sessions[i]
		if n, ok := c.depth[h.Digest]; n != h.Len || !ok && h.Digest != none {
			c.problem("session "+h.ID.String(), "it has %d chunks and the digest %s, and no such transcript is there", h.Len, h.Digest)
		}
		c.heads[h.ID] = h
		c.counts.Sessions.add(h.Digest == none || c.intact[h.Digest])
	}
}

func (c *checker) checkRun(r *RunRecord) {
	var head store.Head
	t := told{c: c, run: r, asked: map[string]store.Interrupt{}, decided: map[string]decided{}}
	for i := range r.Events {
		e := &r.Events[i]
		where := fmt.Sprintf("event %d of run %s", e.Seq, r.ID)
		c.checkEvent(where, e, head)
		head = e.Head()
		t.event(where, e)
	}
	t.interrupts()
}

func (c *checker) checkEvent(where string, e *Event, before store.Head) {
	redacted := e.Redacted != (session.Digest{})
	switch {
	case e.Seq != before.Seq+1:
		c.problem(where, "it follows event %d", before.Seq)
	case redacted:
		c.checkRedacted(where, e.Body)
		standing := e.Event
		if standing.Hash = e.Redacted; !standing.Follows(before) {
			c.problem(where, "its hash, as it stands redacted, is not %s", e.Redacted)
		}
	case !e.Follows(before):
		c.problem(where, "its hash is not that of what is there after event %d", before.Seq)
	}
	c.counts.Events.add(!redacted)
	for _, d := range references(e.Event) {
		if _, ok := c.intact[d]; !ok {
			c.problem(where, "it refers to content %s, which is not there", d)
		}
	}
}

// told compares what is kept beside the events with what the events tell of it.
type told struct {
	c       *checker
	run     *RunRecord
	asked   map[string]store.Interrupt
	decided map[string]decided
}

// decided is the body of the event that tells of an answer.
type decided struct {
	Key      string          `json:"key"`
	Decision json.RawMessage `json:"decision"`
	By       string          `json:"by,omitempty"`
}

func (t *told) event(where string, e *Event) {
	var err error
	switch e.Kind {
	case store.EventCreated:
		var b store.Created
		err = json.Unmarshal(e.Body, &b)
		if err == nil && b.Run != t.run.ID {
			t.c.problem(where, "it is of run %s", b.Run)
		}
		t.session(where, b.Input, b.Digest)
	case store.EventState:
		var b store.StateChange
		err = json.Unmarshal(e.Body, &b)
		t.session(where, b.Output, b.Digest)
	case store.EventSession:
		var b store.SessionMade
		err = json.Unmarshal(e.Body, &b)
		t.session(where, b.ID, b.Digest)
	case store.EventAsked:
		var b store.Interrupt
		if err = json.Unmarshal(e.Body, &b); err == nil {
			t.asked[b.Key] = b
		}
	case store.EventDecided:
		var b decided
		if err = json.Unmarshal(e.Body, &b); err == nil {
			t.decided[b.Key] = b
		}
	}
	if err != nil {
		t.c.problem(where, "its body cannot be read: %v", err)
	}
}

// session wants that a session of the records has the digest that an event tells.
func (t *told) session(where string, id session.ID, d session.Digest) {
	if h := t.c.heads[id]; h != nil && d != (session.Digest{}) && h.Digest != d {
		t.c.problem(where, "it tells of session %s with the digest %s, and the one that is there has %s", id, d, h.Digest)
	}
}

func (t *told) interrupts() {
	for _, i := range t.run.Interrupts {
		where := fmt.Sprintf("question %s of run %s", i.Key, t.run.ID)
		if asked, ok := t.asked[i.Key]; ok && (asked.Kind != i.Kind || !sameJSON(asked.Request, i.Request)) {
			t.c.problem(where, "it is not what the events tell that was asked")
		}
		if d, ok := t.decided[i.Key]; ok && (d.By != i.By || !sameJSON(d.Decision, i.Decision)) {
			t.c.problem(where, "its decision is not the one that the events tell of")
		}
	}
}

func sameJSON(a, b json.RawMessage) bool {
	return bytes.Equal(canonical(a), canonical(b))
}

// canonical returns the canonical form of JSON, and what is no JSON as it is.
func canonical(raw json.RawMessage) json.RawMessage {
	v := jsontext.Value(raw).Clone()
	if v.Canonicalize() != nil {
		return raw
	}
	return json.RawMessage(v)
}

// references returns the contents that an event refers to.
func references(e store.Event) (all []session.Digest) {
	var packed struct {
		Input, Value json.RawMessage
	}
	switch e.Kind {
	case store.EventIntent, store.EventResult, store.EventNoted, store.EventSettled:
		if json.Unmarshal(e.Body, &packed) != nil {
			return nil
		}
	}
	for _, v := range []json.RawMessage{packed.Input, packed.Value} {
		if len(v) > 0 {
			all = append(all, store.References(v)...)
		}
	}
	return all
}

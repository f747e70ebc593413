package evidence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Options say what a dossier has. Nil is the zero Options.
//
// Secrets are taken out unless NoRedact is set: private keys, tokens of the shapes that
// well-known services give, bearer tokens, passwords in URLs, and values whose name says
// that they are secret ("password": "...", API_KEY=...). What is taken out is named by
// its SHA-256, so that who has a value can show that it was there. Who can guess a value
// can confirm the guess likewise: a short password is not protected by its digest, and
// neither is a chunk's digest a secret if all of the chunk but a short password is known.
// A secret that looks like any other text is found by Patterns alone.
type Options struct {
	// Patterns find further secrets. Of a match, the first group that took part is
	// replaced, all of it if the pattern has none. They are tried on texts as they are, and
	// with the escapes of JSON, URLs and terminals undone.
	Patterns []*regexp.Regexp
	// NoRedact keeps everything as it is.
	NoRedact bool
	// Now is the clock. nil: time.Now.
	Now func() time.Time
}

// Collect makes the dossier of a run or a session, whichever has the id.
//
// That of a run has its events, its sessions and all that they come from. That of a
// session has the session and all that it comes from, and of the runs that made these,
// the events and the other sessions. What the store has is checked first; it fails with
// [store.ErrDamaged] if something is not what its digest says. ErrNotFound.
func Collect(ctx context.Context, st store.Store, id session.ID, opts *Options) (*Dossier, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	d := &Dossier{Version: Version, Collected: o.Now().UTC().Truncate(time.Microsecond)}
	if err := d.collect(ctx, st, id, o); err != nil {
		return nil, fmt.Errorf("collect the evidence of %s: %w", id, err)
	}
	return d, nil
}

func (d *Dossier) collect(ctx context.Context, st store.Store, id session.ID, o Options) error {
	c := &collector{ctx: ctx, st: st, rec: &d.Records, have: map[session.Digest]bool{}}
	if err := c.subject(d, id); err != nil {
		return err
	}
	if _, err := d.Records.check(nil); err != nil {
		return fmt.Errorf("%w: %w", store.ErrDamaged, err)
	}
	if !o.NoRedact {
		r := newRedactor(o.Patterns)
		if err := r.records(&d.Records); err != nil {
			return err
		}
		d.Redactions = r.list()
	}
	return d.conclude()
}

// conclude makes the findings of records as a reader will have them.
func (d *Dossier) conclude() error {
	raw, err := json.Marshal(d.Records)
	if err != nil {
		return err
	}
	if d.Records, err = readRecords(raw); err != nil {
		return err
	}
	d.Findings, err = derive(d.Version, d.Subject, &d.Records)
	return err
}

// collector reads records from a store.
type collector struct {
	ctx  context.Context
	st   store.Store
	rec  *Records
	have map[session.Digest]bool // contents and links
}

func (c *collector) subject(d *Dossier, id session.ID) error {
	_, err := c.st.Run(c.ctx, id)
	switch {
	case err == nil:
		d.Subject = Subject{SubjectRun, id}
		if err := c.run(id); err != nil {
			return err
		}
		run, err := c.st.Run(c.ctx, id) // again: as new as its events, if it is under way
		if err != nil {
			return err
		}
		return c.sessions(run.Input, run.Output)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	d.Subject = Subject{SubjectSession, id}
	if err := c.runsOf(id); err != nil {
		return err
	}
	return c.sessions(id)
}

// runsOf reads the runs that made a session and what it comes from. It fails if there is
// no such session.
func (c *collector) runsOf(id session.ID) error {
	if _, err := c.st.Session(c.ctx, id); err != nil {
		return err
	}
	seen := map[string]bool{"": true}
	for h, err := range c.st.Heads(c.ctx, store.SessionFilter{AncestorsOf: []session.ID{id}}) {
		if err != nil {
			return err
		}
		if seen[h.Lineage.Run] {
			continue
		}
		seen[h.Lineage.Run] = true
		run, err := session.ParseID(h.Lineage.Run)
		if err != nil {
			continue // another program's
		}
		if _, err := c.st.Run(c.ctx, run); errors.Is(err, store.ErrNotFound) {
			continue // it came with the session from elsewhere, or was removed
		}
		if err := c.run(run); err != nil {
			return err
		}
	}
	return nil
}

// run reads the events of a run, with what they refer to, and its questions.
func (c *collector) run(id session.ID) error {
	r := RunRecord{ID: id}
	for e, err := range c.st.Events(c.ctx, id, 0) {
		if err != nil {
			return fmt.Errorf("read the events of run %s: %w", id, err)
		}
		r.Events = append(r.Events, Event{Event: e})
		for _, d := range references(e) {
			if err := c.object(d); err != nil {
				return fmt.Errorf("read what event %d of run %s refers to: %w", e.Seq, id, err)
			}
		}
	}
	for i, err := range c.st.Interrupts(c.ctx, id) {
		if err != nil {
			return fmt.Errorf("read the questions of run %s: %w", id, err)
		}
		r.Interrupts = append(r.Interrupts, i)
	}
	c.rec.Runs = append(c.rec.Runs, r)
	return nil
}

func (c *collector) object(d session.Digest) error {
	if c.have[d] {
		return nil
	}
	data, err := c.st.Object(c.ctx, d)
	if err != nil {
		return err
	}
	c.keep(d, data)
	return nil
}

func (c *collector) keep(d session.Digest, data []byte) {
	if !c.have[d] {
		c.have[d] = true
		c.rec.Contents = append(c.rec.Contents, Content{Digest: d, Value: data})
	}
}

// sessions reads the sessions of the runs, others besides, and all that they come from.
func (c *collector) sessions(ids ...session.ID) error {
	for _, r := range c.rec.Runs {
		for h, err := range c.st.Heads(c.ctx, store.SessionFilter{Run: r.ID.String()}) {
			if err != nil {
				return fmt.Errorf("list the sessions of run %s: %w", r.ID, err)
			}
			ids = append(ids, h.ID)
		}
	}
	ids = slices.DeleteFunc(ids, session.ID.IsZero)
	if len(ids) == 0 {
		return nil
	}
	g, err := graph.New(c.st.Heads(c.ctx, store.SessionFilter{AncestorsOf: ids}))
	if err != nil {
		return err
	}
	for id := range g.Topological() {
		h, _ := g.Head(id)
		c.rec.Sessions = append(c.rec.Sessions, h)
		if err := c.transcript(id); err != nil {
			return err
		}
	}
	return nil
}

// transcript reads what is not known yet of a session's content.
func (c *collector) transcript(id session.ID) error {
	s, err := c.st.Session(c.ctx, id)
	if err != nil {
		return fmt.Errorf("read session %s: %w", id, err)
	}
	t := s.Transcript()
	t.Digest() // once for all
	n := t.Len()
	for n > 0 && !c.have[t.First(n).Digest()] {
		n--
	}
	before := t.First(n).Digest()
	for i, chunk := range t.From(n) {
		raw, err := chunk.MarshalJSON()
		if err != nil {
			return fmt.Errorf("read session %s: %w", id, err)
		}
		l := Link{Digest: t.First(i + 1).Digest(), Before: before, Chunk: chunk.Digest()}
		c.keep(l.Chunk, raw)
		c.rec.Links = append(c.rec.Links, l)
		c.have[l.Digest] = true
		before = l.Digest
	}
	return nil
}

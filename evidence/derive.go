package evidence

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// The kinds of effects that findings know.
const (
	kindModel     = "model"
	kindTool      = "tool"
	kindApproval  = "approval"
	kindInterrupt = "interrupt"
	kindSession   = "session"
	kindMemory    = "memory"
)

// deriver makes findings of records.
type deriver struct {
	*index
	version  int
	out      Findings
	subject  Subject
	answer   session.ID                    // the session of the answer
	own      map[session.ID][]int          // which places of the transcripts no parent has
	inAnswer map[session.ID]bool           // the session of the answer and its ancestors
	made     map[[2]string][]*session.Head // by run and workflow
	asked    map[place]string              // the keys of the questions about calls
	scopes   map[string]scope              // of the run at hand, by path
	failed   map[*store.Effect]string      // what memories say that they could not do
	choices  map[session.ID]int            // places in the findings
}

// derive makes the findings of a version. They depend on the records alone.
func derive(version int, subject Subject, r *Records) (Findings, error) {
	x, err := newIndex(r)
	if err != nil {
		return Findings{}, err
	}
	d := &deriver{
		index: x, version: version, subject: subject, own: map[session.ID][]int{}, inAnswer: map[session.ID]bool{},
		made: map[[2]string][]*session.Head{}, asked: map[place]string{},
		scopes: map[string]scope{}, failed: map[*store.Effect]string{},
		choices: map[session.ID]int{},
	}
	for i := range r.Runs {
		if err := d.run(&r.Runs[i]); err != nil {
			return Findings{}, err
		}
	}
	d.chooseAnswer()
	for i := range r.Sessions {
		d.session(&r.Sessions[i])
	}
	d.effectsOfRuns()
	d.calls()
	d.reject()
	d.total()
	d.describeAnswer()
	return d.out, nil
}

func (d *deriver) run(r *RunRecord) error {
	out := Run{ID: r.ID, State: store.Running}
	for _, e := range r.Events {
		out.Head = e.Head()
		switch e.Kind {
		case store.EventCreated:
			var b store.Created
			if err := json.Unmarshal(e.Body, &b); err != nil {
				return fmt.Errorf("event %d of run %s: %w", e.Seq, r.ID, err)
			}
			out.Name, out.Program, out.Spec, out.Source = b.Name, b.Program, b.Spec, b.Source
			out.Input, out.Deadline, out.Created = b.Input, b.Deadline, e.Time
		case store.EventState:
			var b store.StateChange
			if err := json.Unmarshal(e.Body, &b); err != nil {
				return fmt.Errorf("event %d of run %s: %w", e.Seq, r.ID, err)
			}
			out.changed(e.Event, b)
		}
	}
	d.out.Runs = append(d.out.Runs, out)
	return nil
}

func (r *Run) changed(e store.Event, b store.StateChange) {
	r.State, r.Error = b.State, b.Error
	if !b.Output.IsZero() {
		r.Output = b.Output
	}
	if b.State.Ended() {
		r.Ended = e.Time
	}
	r.States = append(r.States, StateChange{e.Seq, e.Time, b.State, b.Owner, b.Error})
}

// chooseAnswer finds the session whose last chunk is the answer.
func (d *deriver) chooseAnswer() {
	d.answer = d.subject.ID
	if d.subject.Kind == SubjectRun {
		d.answer = session.ID{}
		for _, r := range d.out.Runs {
			if r.ID == d.subject.ID {
				d.answer = r.Output
			}
		}
	}
	if _, ok := d.rows[d.answer]; !ok {
		d.answer = session.ID{}
		return
	}
	d.inAnswer[d.answer] = true
	for a := range d.graph.Ancestors(d.answer) {
		d.inAnswer[a] = true
	}
}

func (d *deriver) session(h *session.Head) {
	by := [2]string{h.Lineage.Run, h.Lineage.Path}
	d.made[by] = append(d.made[by], h)
	out := Session{ID: h.ID, Answer: d.inAnswer[h.ID]}
	parents := d.parents(h)
	for _, p := range parents {
		out.Shared = max(out.Shared, d.shared(h.ID, p))
	}
	d.own[h.ID] = d.added(h, parents, out.Shared)
	for _, i := range d.own[h.ID] {
		out.Added = append(out.Added, d.rows[h.ID][i].Chunk)
	}
	d.out.Sessions = append(d.out.Sessions, out)
	d.chose(h)
	if h.Lineage.Op == session.OpCompress && len(parents) > 0 {
		d.removed(h, parents[0], out.Added)
	}
}

// added returns the places of the chunks that a session has of its own. What follows the
// part that it shares with a parent is its own, but in a session that was put together of
// others.
func (d *deriver) added(h *session.Head, parents []session.ID, shared int) (own []int) {
	inherited := map[session.Digest]bool{}
	if h.Lineage.Op == session.OpMerge || h.Lineage.Op == session.OpCompress {
		for _, p := range parents {
			for _, l := range d.rows[p] {
				inherited[l.Chunk] = true
			}
		}
	}
	for i, l := range d.rows[h.ID] {
		if i >= shared && !inherited[l.Chunk] {
			own = append(own, i)
		}
	}
	return own
}

// removed compares a compressed session with the one before.
func (d *deriver) removed(h *session.Head, from session.ID, added []session.Digest) {
	left := map[session.Digest]int{}
	for _, l := range d.rows[h.ID] {
		left[l.Chunk]++
	}
	out := Removal{Session: h.ID, From: from, Path: h.Lineage.Path, Added: added}
	for _, l := range d.rows[from] {
		if left[l.Chunk] > 0 {
			left[l.Chunk]--
			out.Kept++
		} else {
			out.Removed = append(out.Removed, l.Chunk)
		}
	}
	d.before(&out, h)
	d.out.Removed = append(d.out.Removed, out)
}

// effectsOfRuns sorts the effects by their kinds.
func (d *deriver) effectsOfRuns() {
	for _, r := range d.Runs {
		clear(d.scopes)
		for _, e := range d.effects[r.ID] {
			switch e.Kind {
			case kindModel:
				d.model(r.ID, e)
			case kindMemory:
				d.memory(r.ID, e)
			case kindTool, kindSession: // calls stand with those of the transcripts; identities are the sessions'
				d.enter(r.ID, e)
			case kindApproval, kindInterrupt: // with the questions
			default:
				d.out.Other = append(d.out.Other, plainEffect(r.ID, e))
			}
		}
		d.questions(&r)
		d.settled(&r)
	}
}

func spanOf(run session.ID, e *store.Effect) Span {
	return Span{
		Run: run, Effect: e.ID, Path: e.Path, Begun: e.Begun, TookUS: e.Result.TookUS, Attempts: e.Attempts,
		Error: e.Result.Error, Cancelled: e.Result.Cancelled, Open: e.Open() && !e.Result.Cancelled,
	}
}

func plainEffect(run session.ID, e *store.Effect) Effect {
	return Effect{spanOf(run, e), e.Kind, e.Name, e.Class, e.Input, e.Result.Value}
}

// settled lists what people said of effects, in this run or in the one that it reruns.
func (d *deriver) settled(r *RunRecord) {
	byID := map[int64]*store.Effect{}
	for _, e := range d.effects[r.ID] {
		byID[e.ID] = e
	}
	for _, e := range r.Events {
		d.tookOver(r.ID, e)
		var b store.Settled
		if e.Kind != store.EventSettled || json.Unmarshal(e.Body, &b) != nil {
			continue
		}
		s := Settlement{Run: r.ID, Seq: e.Seq, Time: e.Time, Effect: b.Effect, Verdict: b.Verdict, By: b.By, Value: b.Value}
		if x := byID[b.Effect]; x != nil {
			s.Path, s.Kind, s.Name = x.Path, x.Kind, x.Name
		}
		d.out.Settled = append(d.out.Settled, s)
	}
}

// tookOver lists the result of an effect that a rerun has from a person by way of its source.
func (d *deriver) tookOver(run session.ID, e Event) {
	var b store.Noted
	if e.Kind != store.EventNoted || json.Unmarshal(e.Body, &b) != nil || !b.Settled {
		return
	}
	i := slices.IndexFunc(d.out.Runs, func(r Run) bool { return r.ID == run })
	d.out.Settled = append(d.out.Settled, Settlement{
		Run: run, Source: d.out.Runs[i].Source, Seq: e.Seq, Time: e.Time, Effect: e.Seq,
		Path: b.Path, Kind: b.Kind, Name: b.Name, Verdict: store.VerdictResult, Value: b.Value,
	})
}

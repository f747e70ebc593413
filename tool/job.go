package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
)

// job is one call on its way.
type job struct {
	d      *Dispatch
	ctx    context.Context // with the call's scope
	tool   *Tool
	inv    invocation
	result session.Chunk // known before it runs: the call cannot run
	known  bool

	recorded bool // its result is on record
	place    place
	before   <-chan struct{} // closed when the call before has queued for its locks; nil: there is none
	queued   chan struct{}   // closed when this one has
	held     *ticket         // nil: it holds nothing
	failed   error           // why it cannot have its locks
}

func (j *job) refuse(outcome session.Outcome, f Failure) *job {
	j.result, j.known = f.Chunk(j.inv.call, outcome), true
	return j
}

// validate refuses a call whose arguments do not fit.
func (j *job) validate() *job {
	if err := j.tool.validate(json.RawMessage(j.inv.call.Arguments)); err != nil {
		j.refuse(session.Failed, Failure{Kind: KindInvalidArguments, Message: "the arguments of " + j.tool.Name + " do not fit its schema", Detail: err.Error()})
	}
	return j
}

// approve has the call approved, or refuses it.
func (j *job) approve(ctx context.Context) error {
	ctx = context.WithValue(ctx, invocationKey{}, &j.inv)
	decision, err := approve(ctx, j.tool, j.inv.call, j.d.Policy)
	switch {
	case err != nil:
		return fmt.Errorf("approve %s: %w", j.inv.call.Name, err)
	case !decision.Allow:
		j.refuse(session.Denied, Failure{Kind: KindDenied, Message: j.inv.call.Name + " was not allowed to run", Detail: decision.Reason})
	case decision.Arguments != "":
		j.inv.call.Arguments = decision.Arguments
		j.validate()
	}
	return nil
}

// effect describes the call to a journal.
func (j *job) effect() effect.Call {
	return effect.Call{Kind: "tool", Name: j.tool.Name, Input: &j.inv.call, Class: j.tool.Class, Key: j.inv.call.ID}
}

// locking reports whether the call may take locks. One whose result is on record does
// nothing, so it takes none.
func (j *job) locking() bool {
	return !j.known && !j.recorded && (j.tool.Locks != nil || j.tool.Class != effect.ReadOnly)
}

// acquire returns when the call holds its locks, if it takes any.
func (j *job) acquire(ctx context.Context) error {
	if j.queued == nil { // it takes none
		return nil
	}
	err := j.queue(ctx)
	if err == nil && j.held != nil {
		err = j.held.wait(ctx)
	}
	switch {
	case err != nil:
		j.release()
	case j.held != nil:
		j.inv.ticket = j.held
	}
	return err
}

// queue takes the call's place behind all that it must wait for. Its locks are named
// after that, when no call ahead can change any more where file names lead.
func (j *job) queue(ctx context.Context) error {
	defer close(j.queued)
	if j.before != nil {
		<-j.before // no longer than ctx
	}
	if j.tool.Locks == nil {
		return j.take(j.place.absolute(Everything()))
	}
	if err := j.take([]Lock{j.place.naming()}); err != nil {
		return err
	}
	if err := j.held.wait(ctx); err != nil {
		return err
	}
	locks, err := j.locks(ctx)
	if err != nil {
		return err
	}
	if len(locks) == 0 {
		j.release()
		return nil
	}
	return shared.extend(j.held, j.place.absolute(locks...))
}

func (j *job) locks(ctx context.Context) ([]Lock, error) {
	inv := j.inv
	inv.ticket = j.held
	ctx = context.WithValue(ctx, invocationKey{}, &inv)
	return guard(ctx, j.tool, "Locks of the tool", func() ([]Lock, error) {
		return j.tool.Locks(ctx, json.RawMessage(j.inv.call.Arguments))
	})
}

func (j *job) take(locks []Lock) (err error) {
	j.held, err = shared.add(j.inv.ticket, locks)
	return err
}

func (j *job) release() {
	if j.held != nil {
		shared.release(j.held)
		j.held = nil
	}
}

// run waits for the locks and performs the call. A call whose turn comes after ctx has
// ended does not begin.
func (j *job) run(ctx context.Context) (Done, error) {
	done := Done{Call: j.inv.call}
	if j.known {
		j.started()
		return j.finished(done, j.result), nil
	}
	defer j.release()
	j.failed = j.acquire(ctx)
	if ctx.Err() != nil {
		done.Chunk = Interrupted(done.Call)
		return done, nil // runAll gives ctx's error, once
	}
	j.started()
	begin := time.Now()
	live := false
	out, err := effect.Do(ctx, j.effect(), func(ctx context.Context) (performed, error) {
		live = true
		return j.traced(ctx)
	})
	switch {
	case out.settled != nil:
		out.Chunk = j.tool.chunk(done.Call, *out.settled)
		out.Change = j.settledChange(ctx)
	case out.Chunk == (session.Chunk{}):
		out.Chunk = Interrupted(done.Call) // the journal stopped the call
	}
	if out.Change != nil {
		done.Change = *out.Change
	}
	done.Made = out.sessions()
	if sb := j.inv.session.Sandbox(); !live && sb != nil {
		sb.Advance(sandbox.Version{Snapshot: done.Change.After, Number: done.Change.Number})
	}
	done.Took = time.Since(begin)
	done = j.finished(done, out.Chunk)
	switch {
	case err != nil:
		return done, fmt.Errorf("call tool %s: %w", j.tool.Name, err)
	case out.Fatal != "":
		return done, fmt.Errorf("call tool %s: %w", j.tool.Name, out.fatal())
	}
	return done, nil
}

func (j *job) started() {
	if j.d.Started != nil {
		j.d.Started(j.inv.call)
	}
}

func (j *job) finished(done Done, result session.Chunk) Done {
	done.Chunk = result
	if j.d.Finished != nil {
		j.d.Finished(done)
	}
	return done
}

// performed is what a journal keeps of a call.
type performed struct {
	Chunk  session.Chunk     `json:"chunk"`
	Change *Change           `json:"workspace,omitempty"`
	Fatal  string            `json:"fatal,omitempty"` // the text of an ErrFatal
	cause  error             // the ErrFatal itself, unless this is a record
	Made   []session.ID      `json:"sessions,omitempty"`
	made   []session.Session // the same, unless this is a record

	settled *Result // what a person says that the tool gave
}

// Settle takes a person's word for what the tool would have given: any JSON, or a text.
func (p *performed) Settle(value json.RawMessage) error {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil {
		given := string(value)
		text = &given
	}
	p.settled = &Result{Parts: []session.Part{session.Text(*text)}}
	return nil
}

// sessions are what the tool made.
func (p performed) sessions() []session.Session {
	if p.made != nil {
		return p.made
	}
	made := make([]session.Session, len(p.Made))
	for i, id := range p.Made {
		made[i] = session.Absent(id)
	}
	return made
}

// making notes what the tool made.
func (p performed) making(made []session.Session) performed {
	p.made = made
	for _, s := range made {
		p.Made = append(p.Made, s.ID())
	}
	return p
}

func (p performed) fatal() error {
	if p.cause != nil {
		return p.cause
	}
	return fmt.Errorf("%w: %s", ErrFatal, p.Fatal)
}

// perform runs the tool's function. Only a cancelled context is an error of the effect:
// such a call has no result to be recorded.
func (j *job) perform(ctx context.Context) (performed, error) {
	t, call := j.tool, j.inv.call
	var expired error // this call's own: one that runs within it may see it as well
	if t.Timeout > 0 {
		expired = fmt.Errorf("the time of %s is up", t.Name)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, expired)
		defer cancel()
	}
	result, err := j.call(context.WithValue(ctx, invocationKey{}, &j.inv))
	switch {
	case err == nil:
		return performed{Chunk: t.chunk(call, result)}.making(result.Made), nil
	case errors.Is(err, ErrFatal):
		return performed{Chunk: failureOf(t.Name, err).Chunk(call, session.Failed), Fatal: err.Error(), cause: err}.making(result.Made), nil
	case expired != nil && context.Cause(ctx) == expired:
		f := Failure{Kind: KindTimeout, Message: fmt.Sprintf("%s took longer than %v and was stopped", t.Name, t.Timeout), Detail: err.Error()}
		return performed{Chunk: f.Chunk(call, session.Failed)}, nil
	case ctx.Err() != nil:
		return performed{Chunk: Interrupted(call)}, ctx.Err()
	}
	return performed{Chunk: failureOf(t.Name, err).Chunk(call, session.Failed)}.making(result.Made), nil
}

func (j *job) call(ctx context.Context) (Result, error) {
	if j.failed != nil {
		return Result{}, j.failed
	}
	return guard(ctx, j.tool, "the tool", func() (Result, error) { return j.tool.Run(ctx, json.RawMessage(j.inv.call.Arguments)) })
}

// chunk makes the tool result, its text cut to what the tool allows.
func (t *Tool) chunk(call session.Call, r Result) session.Chunk {
	room := t.MaxOutput
	if room == 0 {
		room = 48_000
	}
	parts := make([]session.Part, len(r.Parts))
	for i, p := range r.Parts {
		if p.Kind == session.PartText && room >= 0 {
			p.Text = cut(p.Text, room)
			room = max(room-len(p.Text), 0)
		}
		parts[i] = p
	}
	outcome := session.OK
	if r.Failed {
		outcome = session.Failed
	}
	return session.ToolResult(answer(call, outcome), parts...)
}

// cut keeps the first n bytes of a text, whole characters only, and says what is gone.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n[... %d bytes cut ...]", text[:n], len(text)-n)
}

package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Dispatch runs the tool calls of one model reply.
type Dispatch struct {
	Tools    Set
	Started  func(session.Call)                               // called when a call begins, nil: nobody cares
	Finished func(session.Call, session.Chunk, time.Duration) // called when a call has its result
}

// Run answers every call with one tool result, in the order of the calls. Calls whose
// locks are disjoint run in parallel, the others in their order. What a tool does
// wrong becomes a result for the model; the error is an ErrFatal, the approver's, a
// journal's or the context's, and even then every call has its result.
func (d *Dispatch) Run(ctx context.Context, s session.Session, calls []session.Call) ([]session.Chunk, error) {
	place := ""
	if sb := s.Sandbox(); sb != nil {
		place = sb.String()
	}
	locks, leave := enter(place)
	defer leave()

	jobs := make([]*job, len(calls))
	for i, call := range calls {
		j, err := d.prepare(ctx, s, call, locks)
		if err != nil {
			for _, earlier := range jobs[:i] {
				earlier.abandon()
			}
			return interrupted(calls), err
		}
		jobs[i] = j
	}
	return runAll(ctx, jobs)
}

func interrupted(calls []session.Call) []session.Chunk {
	out := make([]session.Chunk, len(calls))
	for i, call := range calls {
		out[i] = Interrupted(call)
	}
	return out
}

// runAll runs the last job here and each other one in a goroutine.
func runAll(ctx context.Context, jobs []*job) ([]session.Chunk, error) {
	results := make([]session.Chunk, len(jobs))
	errs := make([]error, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		if i == len(jobs)-1 {
			results[i], errs[i] = j.run(ctx)
			break
		}
		wg.Go(func() { results[i], errs[i] = j.run(ctx) })
	}
	wg.Wait()
	return results, cmp.Or(errors.Join(errs...), ctx.Err())
}

// job is one call on its way.
type job struct {
	d      *Dispatch
	tool   *Tool
	inv    invocation
	locks  *table
	result session.Chunk // known before it runs: the call cannot run
	known  bool
}

// prepare checks a call, has it approved, and queues it for its locks.
func (d *Dispatch) prepare(ctx context.Context, s session.Session, call session.Call, locks *table) (*job, error) {
	j := &job{d: d, tool: d.Tools.Find(call.Name), inv: invocation{session: s, call: call}, locks: locks}
	if j.tool == nil {
		return j.refuse(session.Failed, Failure{Kind: KindUnknownTool, Message: fmt.Sprintf("there is no tool %q", call.Name), Detail: d.offered()}), nil
	}
	if strings.TrimSpace(call.Arguments) == "" {
		j.inv.call.Arguments = "{}" // models leave out empty arguments
	}
	if f := j.invalid(); f != nil {
		return j.refuse(session.Failed, *f), nil
	}
	decision, err := approve(ctx, j.tool, j.inv.call)
	if err != nil {
		return nil, fmt.Errorf("approve %s: %w", call.Name, err)
	}
	if !decision.Allow {
		return j.refuse(session.Denied, Failure{Kind: KindDenied, Message: call.Name + " was not allowed to run", Detail: decision.Reason}), nil
	}
	if decision.Arguments != "" {
		j.inv.call.Arguments = decision.Arguments
		if f := j.invalid(); f != nil {
			return j.refuse(session.Failed, *f), nil
		}
	}
	return j.queue(ctx)
}

func (d *Dispatch) offered() string {
	names := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		names[i] = t.Name
	}
	return "the tools are: " + strings.Join(names, ", ")
}

func (j *job) refuse(outcome session.Outcome, f Failure) *job {
	j.result, j.known = f.Chunk(j.inv.call, outcome), true
	return j
}

func (j *job) invalid() *Failure {
	if err := j.tool.validate(json.RawMessage(j.inv.call.Arguments)); err != nil {
		return &Failure{Kind: KindInvalidArguments, Message: "the arguments of " + j.tool.Name + " do not fit its schema", Detail: err.Error()}
	}
	return nil
}

// queue takes the call's place in the table of locks.
func (j *job) queue(ctx context.Context) (*job, error) {
	var parent *ticket
	if outer := invocationOf(ctx); outer != nil {
		parent = outer.ticket
	}
	locks, err := j.tool.locks(context.WithValue(ctx, invocationKey{}, &j.inv), json.RawMessage(j.inv.call.Arguments))
	switch {
	case errors.Is(err, ErrFatal):
		return nil, err
	case err != nil:
		return j.refuse(session.Failed, failureOf(j.tool.Name, err)), nil
	}
	j.inv.ticket = parent
	if len(locks) > 0 {
		j.inv.ticket = j.locks.add(locks, parent)
	}
	return j, nil
}

func (t *Tool) locks(ctx context.Context, arguments json.RawMessage) ([]Lock, error) {
	switch {
	case t.Locks != nil:
		return t.Locks(ctx, arguments)
	case t.Class == effect.ReadOnly:
		return nil, nil
	}
	return []Lock{Everything()}, nil
}

func (j *job) holds() bool { return j.inv.ticket != nil && len(j.inv.ticket.locks) > 0 && !j.known }

// abandon lets go of a queued job that will not run.
func (j *job) abandon() {
	if j.holds() {
		j.locks.release(j.inv.ticket)
	}
}

// run waits for the locks and performs the call.
func (j *job) run(ctx context.Context) (session.Chunk, error) {
	call := j.inv.call
	if j.known {
		j.started()
		j.finished(j.result, 0)
		return j.result, nil
	}
	defer j.abandon()
	if j.holds() {
		if err := j.inv.ticket.wait(ctx); err != nil {
			return Interrupted(call), err
		}
	}
	j.started()
	begin := time.Now()
	out, err := effect.Do(ctx, effect.Call{Kind: "tool", Name: j.tool.Name, Input: &call, Class: j.tool.Class, Key: call.ID}, j.perform)
	if out.Chunk == (session.Chunk{}) {
		out.Chunk = Interrupted(call) // the journal stopped the call
	}
	j.finished(out.Chunk, time.Since(begin))
	switch {
	case err != nil:
		return out.Chunk, fmt.Errorf("call tool %s: %w", j.tool.Name, err)
	case out.Fatal != "":
		return out.Chunk, fmt.Errorf("call tool %s: %w", j.tool.Name, out.fatal())
	}
	return out.Chunk, nil
}

func (j *job) started() {
	if j.d.Started != nil {
		j.d.Started(j.inv.call)
	}
}

func (j *job) finished(c session.Chunk, took time.Duration) {
	if j.d.Finished != nil {
		j.d.Finished(j.inv.call, c, took)
	}
}

// performed is what a journal keeps of a call.
type performed struct {
	Chunk session.Chunk `json:"chunk"`
	Fatal string        `json:"fatal,omitempty"` // the text of an ErrFatal
	cause error         // the ErrFatal itself, unless this is a record
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
	if t.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.Timeout, errTimeout)
		defer cancel()
	}
	result, err := guarded(context.WithValue(ctx, invocationKey{}, &j.inv), t, json.RawMessage(call.Arguments))
	switch {
	case err == nil:
		return performed{Chunk: t.chunk(call, result)}, nil
	case errors.Is(err, ErrFatal):
		return performed{Chunk: failureOf(t.Name, err).Chunk(call, session.Failed), Fatal: err.Error(), cause: err}, nil
	case context.Cause(ctx) == errTimeout:
		f := Failure{Kind: KindTimeout, Message: fmt.Sprintf("%s took longer than %v and was stopped", t.Name, t.Timeout), Detail: err.Error()}
		return performed{Chunk: f.Chunk(call, session.Failed)}, nil
	case ctx.Err() != nil:
		return performed{Chunk: Interrupted(call)}, ctx.Err()
	}
	return performed{Chunk: failureOf(t.Name, err).Chunk(call, session.Failed)}, nil
}

var errTimeout = errors.New("the tool's time is up")

// guarded turns a panic into an error: one bad tool must not end the program.
func guarded(ctx context.Context, t *Tool, arguments json.RawMessage) (r Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "tool panicked", "tool", t.Name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the tool panicked: %v", p)
		}
	}()
	return t.Run(ctx, arguments)
}

func failureOf(name string, err error) Failure {
	var own *Failure
	if errors.As(err, &own) {
		return *own
	}
	return Failure{Kind: KindException, Message: name + " failed", Detail: err.Error()}
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

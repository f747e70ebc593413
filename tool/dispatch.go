package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// Dispatch runs the tool calls of one model reply.
type Dispatch struct {
	Tools    Set
	Started  func(session.Call) // called when a call begins, nil: nobody cares
	Finished func(Done)         // called when a call has its result
	Policy   Policy             // asked about every call before anybody else is; nil: there is none
	Owner    string             // who keeps the snapshots around calls: see [sandbox.Sandbox.Keep]; empty: the session
}

// Done is a call that has been answered.
type Done struct {
	Call   session.Call  // as it was approved
	Chunk  session.Chunk // the tool result
	Took   time.Duration
	Change Change
	Made   []session.Session // what the tool says it made; those on record are known by id alone
}

// Run answers every call with one tool result, in the order of the calls. Calls whose
// locks are disjoint run in parallel, the others in their order. What a tool does
// wrong becomes a result for the model; the error is an ErrFatal, the approver's, a
// journal's or the context's, and even then every call has its result.
func (d *Dispatch) Run(ctx context.Context, s session.Session, calls []session.Call) ([]Done, error) {
	jobs := make([]*job, len(calls))
	for i, call := range calls {
		jobs[i] = d.prepare(ctx, s, call)
	}
	if err := d.approveAll(jobs); err != nil {
		return interrupted(calls), err
	}
	for _, j := range jobs {
		j.recorded = !j.known && effect.Known(j.ctx, j.effect())
	}
	line(jobs, s)
	return runAll(ctx, jobs)
}

func interrupted(calls []session.Call) []Done {
	out := make([]Done, len(calls))
	for i, call := range calls {
		out[i] = Done{Call: call, Chunk: Interrupted(call)}
	}
	return out
}

// line has the jobs that take locks queue for them in the order of their calls.
func line(jobs []*job, s session.Session) {
	var last *job
	for _, j := range jobs {
		if !j.locking() {
			continue
		}
		j.queued = make(chan struct{})
		if last == nil {
			j.place = placeOf(s)
		} else {
			j.place, j.before = last.place, last.queued
		}
		last = j
	}
}

// runAll runs the last job here and each other one in a goroutine. Those on record come
// first: what they changed is what the others find.
func runAll(ctx context.Context, jobs []*job) ([]Done, error) {
	results := make([]Done, len(jobs))
	errs := make([]error, len(jobs))
	var live []int
	for i, j := range jobs {
		if j.known || j.recorded {
			results[i], errs[i] = j.run(j.ctx)
		} else {
			live = append(live, i)
		}
	}
	var wg sync.WaitGroup
	for n, i := range live {
		if n == len(live)-1 {
			results[i], errs[i] = jobs[i].run(jobs[i].ctx)
			break
		}
		wg.Go(func() { results[i], errs[i] = jobs[i].run(jobs[i].ctx) })
	}
	wg.Wait()
	return results, cmp.Or(errors.Join(errs...), ctx.Err())
}

// prepare checks a call. Each has a scope of its own: what happens within it belongs there.
func (d *Dispatch) prepare(ctx context.Context, s session.Session, call session.Call) *job {
	j := &job{d: d, tool: d.Tools.Find(call.Name), inv: invocation{session: s, call: call}}
	j.ctx = effect.Scope(ctx, call.Name+":"+call.ID)
	if outer := invocationOf(ctx); outer != nil {
		j.inv.ticket = outer.ticket
	}
	if j.tool == nil {
		return j.refuse(session.Failed, Failure{Kind: KindUnknownTool, Message: fmt.Sprintf("there is no tool %q", call.Name), Detail: d.offered()})
	}
	if strings.TrimSpace(call.Arguments) == "" {
		j.inv.call.Arguments = "{}" // models leave out empty arguments
	}
	return j.validate()
}

// approveAll has the calls approved, in their order. The next is asked about when the
// one before is decided, or its question is put; after an error none is.
func (d *Dispatch) approveAll(jobs []*job) error {
	errs := make([]error, len(jobs))
	var failed atomic.Bool
	var wg sync.WaitGroup
	for i, j := range jobs {
		if failed.Load() {
			break
		}
		if j.known || d.Policy == nil && !needsApproval(j.ctx, j.tool, &j.inv.call) {
			continue
		}
		put := make(chan struct{})
		once := sync.OnceFunc(func() { close(put) })
		wg.Go(func() {
			defer once()
			if errs[i] = j.approve(context.WithValue(j.ctx, askedKey{}, once)); errs[i] != nil {
				failed.Store(true)
			}
		})
		<-put
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (d *Dispatch) offered() string {
	names := make([]string, len(d.Tools))
	for i, t := range d.Tools {
		names[i] = t.Name
	}
	return "the tools are: " + strings.Join(names, ", ")
}

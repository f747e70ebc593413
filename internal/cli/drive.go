package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// drive is what the commands share that drive a run: its agent and its sandbox, and who
// watches it and is asked.
type drive struct {
	a       *app
	r       *records
	spec    spec
	agent   *flow.Agent
	program flow.Workflow    // the agent, with what it gets within the run
	alone   bool             // nobody answers other questions than those about calls
	sandbox *sandbox.Sandbox // nil: none
	memory  bound            // its Store is nil: none
	clients clients          // of MCP servers
	lines   int              // of a batch
	view    *view
	who     deciding
	runner  *run.Runner
	timeout time.Duration // that the command gave the run; 0: none
}

func (a *app) newDrive(ctx context.Context, r *records, s spec, model llm.Model, who func(*app, *view) deciding) (*drive, error) {
	_, c, err := a.home()
	if err != nil {
		return nil, err
	}
	d := &drive{a: a, r: r, spec: s, view: a.newView()}
	d.view.many = s.Flow != nil
	if s.Memory != nil {
		if d.memory, err = a.openMemory(ctx, s, model); err != nil {
			return nil, err
		}
		s.Place.memory = d.memory.files()
	}
	if d.agent, err = s.agent(model, d.memory.Store); err == nil {
		d.program, err = s.workflow(model, d.memory.Store, d.connectMCP, d.connectFlow)
	}
	if err == nil {
		err = priced(d.program)
	}
	if err == nil {
		d.sandbox, err = s.open(ctx, c, r.home)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	if d.sandbox != nil {
		a.sandbox.Store(d.sandbox)
	}
	if strings.HasPrefix(s.Model, "offline:") {
		fmt.Fprintln(a.err, printable(offlineNotice(s.why)))
	}
	d.who = who(a, d.view)
	d.runner = a.runner(r, run.Options{Decide: d.who.decider, Place: d.place})
	return d, nil
}

// runner makes a runner whose complaints go to stderr.
func (a *app) runner(r *records, o run.Options) *run.Runner {
	o.Log = slog.New(complaints{w: a.err})
	return run.New(r, &o)
}

func (d *drive) place(_ context.Context, s session.Session) (session.Session, error) {
	return s.To(d.sandbox), nil
}

func (d *drive) close() {
	d.clients.close()
	if d.sandbox != nil {
		_ = d.sandbox.Close() // what it could not remove it has told the tools
	}
	if d.memory.Store != nil {
		_ = d.memory.Close() // what it was told to keep is kept
	}
}

// start begins a run.
func (d *drive) start(ctx context.Context, in session.Session, timeout time.Duration) error {
	id, _ := session.NewID()
	options, err := d.options(id)
	if err != nil {
		return err
	}
	if d.timeout = timeout; timeout > 0 {
		options = append(options, run.WithTimeout(timeout))
	}
	return d.run(ctx, id, func(ctx context.Context) (*run.Handle, error) {
		return d.runner.Start(ctx, runName, d.program, in.To(d.sandbox), options...)
	})
}

func (d *drive) options(id session.ID) ([]run.StartOption, error) {
	raw, err := json.Marshal(d.spec)
	return []run.StartOption{run.WithID(id), run.WithSpec(raw)}, err
}

// run drives a run to where it ends or is put down, and shows what happens.
func (d *drive) run(ctx context.Context, id session.ID, start func(context.Context) (*run.Handle, error)) error {
	d.view.run = id
	copied, err := d.upload(ctx, id)
	if err != nil {
		return err
	}
	begin := time.Now()
	h, err := start(flow.Observe(tool.WithApprover(ctx, d.who.approver), d.view.observe))
	if err != nil {
		return d.explain(id, err)
	}
	out, err := h.Wait()
	e := ending{out: out, state: h.State(), took: time.Since(begin)}
	if errors.Is(err, run.ErrWaiting) {
		questions, readErr := collect(d.r.Interrupts(ctx, id))
		e.asks, err = openQuestions(questions), errors.Join(err, readErr)
	}
	if err = d.explain(id, err); err != nil && h.State() == store.Running && hintOf(err) == "" {
		err = &hinted{err, "the record of the run is not whole: see rath doctor, then rath resume " + id.String()}
	}
	err = errors.Join(err, copied.bring(ctx))
	e.err = err
	d.view.finish(e)
	d.settle(ctx)
	if err != nil && d.a.asJSON {
		return told{err}
	}
	return err
}

// explain says how to go on after a run has stopped.
func (d *drive) explain(id session.ID, err error) error {
	var review *run.ReviewError
	resume := "rath resume "
	if d.spec.Yes {
		resume += "--yes "
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, run.ErrWaiting):
		hint := fmt.Sprintf("rath runs decide %s --approve, or --reject; then %s%[1]s", id, resume)
		return &hinted{&reworded{fmt.Sprintf("run %s waits for a decision", id), err}, hint}
	case errors.Is(err, run.ErrTimedOut) && d.timeout == 0: // it had its time from another command
		return &hinted{err, "the time it was given counts waiting too; rath rerun " + id.String() + " begins it anew without a limit"}
	case errors.Is(err, flow.ErrBudgetExceeded):
		return d.overspent(id, err)
	case errors.Is(err, run.ErrCancelled):
		return &hinted{err, "rath rerun " + id.String() + " begins it anew"}
	case errors.Is(err, context.Canceled) && errors.As(err, &review):
		return &hinted{fmt.Errorf("interrupted: %w", err), review.Hint() + "; then " + resume + id.String()}
	case errors.Is(err, context.Canceled):
		return &hinted{fmt.Errorf("interrupted: %w", err), "to continue: " + resume + id.String()}
	case errors.Is(err, store.ErrFenced):
		return &hinted{err, "another process has taken the run over: rath ps"}
	}
	return storeFailure(err)
}

// storeFailure gives an error of the store the hint of one; others keep theirs.
func storeFailure(err error) error {
	if errors.As(err, new(*sqlite.Error)) {
		return storeHint(err)
	}
	return err
}

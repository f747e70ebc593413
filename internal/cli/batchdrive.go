package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
)

// batchName is the name of the runs that rath batch begins.
const batchName = "rath batch"

// batchSpec is what such a run keeps, so that another process can go on with it.
type batchSpec struct {
	spec
	batchOptions
}

// batchDrive drives a batch.
type batchDrive struct {
	*drive
	options batchOptions
	batch   *batch
	whole   flow.Workflow // the batch, within its budget
	bar     *bar
	out     io.WriteCloser // of the results
}

func (a *app) newBatch(ctx context.Context, r *records, s batchSpec, model llm.Model, who func(*app, *view) deciding) (*batchDrive, error) {
	d, err := a.newDrive(ctx, r, s.line(), model, who)
	if err != nil {
		return nil, err
	}
	d.spec = s.spec
	d.alone = d.who.decider == nil && !s.AskLater
	d.announce()
	b := &batchDrive{drive: d, options: s.batchOptions, batch: &batch{records: r}, bar: &bar{}}
	b.batch.Items.Workflow = d.program
	b.batch.Items.Parallel = s.Parallel
	b.batch.Items.Share = s.shares()
	b.batch.Items.Progress = b.bar.set
	if b.whole, err = s.capped(b.batch); err == nil {
		err = priced(b.whole)
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return b, nil
}

// line is the spec of what works on a line: the budget is that of all of them.
func (s batchSpec) line() spec {
	s.Budget = nil
	return s.spec
}

// begin begins a batch. Its results must not be there yet.
func (d *batchDrive) begin(ctx context.Context, in session.Session, timeout time.Duration) error {
	if in.Len() == 0 {
		d.view.note("2", "done", "nothing was left to do")
		return nil
	}
	var err error
	if d.out, err = d.openResults(os.O_EXCL); err != nil {
		return err
	}
	id, _ := session.NewID()
	raw, err := json.Marshal(batchSpec{d.spec, d.options})
	if err != nil {
		return errors.Join(err, d.out.Close())
	}
	options := []run.StartOption{run.WithID(id), run.WithSpec(raw)}
	if d.timeout = timeout; timeout > 0 {
		options = append(options, run.WithTimeout(timeout))
	}
	defer d.removeEmpty()
	return d.run(ctx, id, in.Len(), func(ctx context.Context) (*run.Handle, error) {
		return d.runner.Start(ctx, batchName, d.whole, in.To(d.sandbox), options...)
	})
}

// removeEmpty removes results that never began: they are not in the way of another try.
func (d *batchDrive) removeEmpty() {
	if at, err := os.Stat(d.options.Out); err == nil && at.Mode().IsRegular() && at.Size() == 0 {
		_ = os.Remove(d.options.Out) // it is of no harm either
	}
}

// openResults opens the file for the results, or stdout.
func (d *batchDrive) openResults(flag int) (io.WriteCloser, error) {
	if d.options.Out == "" {
		return stdoutResults{d.a.out}, nil
	}
	f, err := os.OpenFile(d.options.Out, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, usage(&hinted{fmt.Errorf("--out %s is there already", d.options.Out), "rath resume goes on with a batch; --skip with that file, and another --out, does what it has not done"})
	case err != nil:
		return nil, fmt.Errorf("open --out: %w", err)
	}
	return f, nil
}

// stdoutResults is stdout, which stays open.
type stdoutResults struct{ io.Writer }

func (stdoutResults) Close() error { return nil }

// run drives a batch to where it ends or is put down, and reports.
func (d *batchDrive) run(ctx context.Context, id session.ID, total int, start func(context.Context) (*run.Handle, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d.view.run, d.lines = id, total
	copied, err := d.upload(ctx, id)
	if err != nil {
		return errors.Join(err, d.out.Close())
	}
	d.batch.results = putsDown{d.out, cancel}
	begin := time.Now()
	stop := d.bar.draw(d.drive, d.options.Out != "", total, d.batch.used)
	h, err := start(tool.WithApprover(ctx, d.who.approver))
	if err != nil {
		stop()
		return errors.Join(d.explain(id, err), d.out.Close())
	}
	_, err = h.Wait()
	stop()
	err = errors.Join(d.stopped(ctx, id, h.State(), err), d.out.Close(), copied.bring(ctx))
	d.report(h.State(), total, time.Since(begin), err)
	d.settle(ctx)
	if err != nil && d.a.asJSON {
		return told{err}
	}
	return err
}

// stopped says how to go on with a batch that was put down.
func (d *batchDrive) stopped(ctx context.Context, id session.ID, state store.State, err error) error {
	var failed *batchError
	switch {
	case errors.As(err, &failed):
		return failed
	case errors.Is(err, run.ErrTimedOut):
		return &hinted{err, "allow more time with --timeout; " + batchAnew}
	case errors.Is(err, run.ErrCancelled), errors.Is(err, flow.ErrBudgetExceeded):
		return &hinted{err, batchAnew}
	case d.batch.cannot != nil && !state.Ended():
		return &hinted{err, hintOf(d.explain(id, context.Canceled))}
	case errors.Is(err, run.ErrWaiting):
		questions, readErr := collect(d.r.Interrupts(ctx, id))
		for _, q := range openQuestions(questions) {
			d.view.note("33", "asks", q.Key+": "+questionText(q.Request))
		}
		err = errors.Join(err, readErr)
	}
	return d.explain(id, err)
}

// putsDown is a writer whose error puts the run down, so that nothing is lost with it.
type putsDown struct {
	w    io.Writer
	stop context.CancelFunc
}

func (p putsDown) Write(data []byte) (int, error) {
	n, err := p.w.Write(data)
	if err != nil {
		p.stop()
	}
	return n, err
}

// batchReport is the report in JSON.
type batchReport struct {
	OK     bool          `json:"ok"`
	Run    session.ID    `json:"run"`
	State  store.State   `json:"state"`
	Lines  int           `json:"lines"`
	Done   int           `json:"done"`
	Failed int           `json:"failed"`
	Usage  session.Usage `json:"usage"`
	TookMS int64         `json:"took_ms"`
	Out    string        `json:"out,omitempty"`
	Error  *problem      `json:"error,omitempty"`
}

// report says what came of the batch: in a line, or in JSON on stdout.
func (d *batchDrive) report(state store.State, total int, took time.Duration, err error) {
	p, u := d.bar.made(), d.batch.used()
	r := batchReport{
		OK: err == nil, Run: d.view.run, State: state, Lines: total, Done: d.batch.done, Failed: d.batch.failed,
		Usage: u, TookMS: took.Milliseconds(), Out: d.options.Out, Error: problemOf(err),
	}
	if d.a.asJSON {
		_ = d.a.writeJSON(map[string]batchReport{"report": r})
		return
	}
	line := fmt.Sprintf("%d of %d lines", r.Done, total)
	if r.Failed > 0 {
		line += fmt.Sprintf(", %d failed", r.Failed)
	}
	tokens := fmt.Sprintf("%d+%d tokens", u.Input, u.Output)
	if u.Unreported > 0 {
		tokens += fmt.Sprintf(" (%d of %d calls unreported)", u.Unreported, u.Calls)
	}
	line += fmt.Sprintf(" · %s · cost %s · %v (%.1f lines/s)", tokens, u.Cost, took.Round(time.Millisecond), float64(p.Ended)/took.Seconds())
	if state == store.Failed {
		state = store.Succeeded // as a batch: which lines have failed is said
	}
	d.view.note("2", endWord(state), line+" · run "+d.view.run.String())
}

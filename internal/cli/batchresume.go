package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

func batchSpecOf(r store.Run) (s batchSpec, err error) {
	if err := json.Unmarshal(r.Spec, &s); err != nil {
		return s, fmt.Errorf("read the spec of run %s: %w", r.ID, err)
	}
	return s, nil
}

// resumeBatch drives on a batch that was put down.
func (a *app) resumeBatch(ctx context.Context, r *records, stored store.Run, who consent, baseURL string) error {
	s, err := batchSpecOf(stored)
	if err != nil {
		return err
	}
	if err := s.resumable(); err != nil {
		return &hinted{err, batchAnew}
	}
	s.Place = s.place()
	if err := errors.Join(a.examineRules(s.Place), a.examineMemory(s.spec), a.examineServers(s.spec), a.examineFlow(s.spec), a.examinePolicy(s.spec), a.examineResults(s.Out)); err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	models, err := a.castOf(s.spec, baseURL)
	if err != nil {
		return err
	}
	model, err := s.openLimited(models, s.givenBefore(effects, stored.Head.Seq+1))
	if err != nil {
		return err
	}
	asked, err := r.askedCalls(ctx, stored.ID)
	if err != nil {
		return err
	}
	in, err := r.Session(ctx, stored.Input)
	if err != nil {
		return err
	}
	d, err := a.newBatch(ctx, r, s, model, func(*app, *view) deciding { return who.resumedBatch(s, asked) })
	if err != nil {
		return err
	}
	defer d.close()
	return d.goOn(ctx, stored.ID, in.Len())
}

// goOn writes all results again: those of what was finished come from the record.
func (d *batchDrive) goOn(ctx context.Context, id session.ID, total int) error {
	d.runner.Register(batchName, d.whole)
	d.out = &lateFile{open: func() (io.WriteCloser, error) { return d.openResults(os.O_TRUNC) }}
	return d.run(ctx, id, total, func(ctx context.Context) (*run.Handle, error) { return d.resume(ctx, id) })
}

// lateFile is opened with its first write: a batch that cannot go on leaves its results.
type lateFile struct {
	open func() (io.WriteCloser, error)
	file io.WriteCloser
}

func (f *lateFile) Write(data []byte) (n int, err error) {
	if f.file == nil {
		if f.file, err = f.open(); err != nil {
			return 0, err
		}
	}
	return f.file.Write(data)
}

// Close closes the file if it was opened.
func (f *lateFile) Close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

// batchAnew says how to do a batch again that does not go on: it has no rerun, as that has no
// file of results.
const batchAnew = "rath batch FILE.jsonl --skip RESULTS.jsonl does what is not done by the results; without --skip all of it"

// notRerun says of a batch what there is instead.
func notRerun(r store.Run) error {
	hint := batchAnew
	if !r.State.Ended() {
		hint = "rath resume " + r.ID.String() + " goes on with it"
	}
	return usage(&hinted{fmt.Errorf("run %s is a batch, and cannot be rerun", r.ID), hint})
}

// examineResults looks at where a record in the home wants the results, and at what is there.
// Where the working directory has brought the home anybody may have written the record: it can
// name no file elsewhere.
func (a *app) examineResults(out string) error {
	brought, err := a.homeIsBrought()
	if err != nil || out == "" {
		return err
	}
	if !brought || within(resolved(out), resolved(".")) {
		return onlyResults(out)
	}
	err = fmt.Errorf("the results of the batch go to %s: the record in the working directory says so, and nothing else", out)
	return &hinted{err, "keep the records in a home of yours: OPENRATH_HOME"}
}

// replayBatch does a batch again from its record.
func (a *app) replayBatch(ctx context.Context, r *records, stored store.Run, o overrides) error {
	s, err := batchSpecOf(stored)
	if err != nil {
		return err
	}
	if o.model != "" {
		if _, err := o.choose(a, &s.spec); err != nil {
			return err
		}
	}
	if err := o.apply(&s.spec); err != nil {
		return err
	}
	var notes *memory.Store
	if s.Memory != nil {
		notes = memory.Unopened(s.Memory.Memory)
		defer notes.Close()
	}
	if s.Flow != nil {
		a.warnChanged(s.Flow)
	}
	program, err := s.line().workflow(silent(s.Model), notes, connectNothing, replayFlowServer)
	if err != nil {
		return err
	}
	effects, err := r.effects(ctx, stored.ID)
	if err != nil {
		return err
	}
	b := &batch{records: r, results: io.Discard}
	b.Items.Workflow, b.Items.Parallel, b.Items.Share = program, s.Parallel, s.shares()
	whole, err := s.capped(b)
	if err != nil {
		return err
	}
	out, err := a.runner(r, run.Options{}).Replay(ctx, stored.ID, whole)
	return a.replayed(stored, len(effects), out, err)
}

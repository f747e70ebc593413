package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/workspace"
	"github.com/spf13/cobra"
)

func (a *app) runsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show RUN",
		Short: "Show a run: its state, its effects, its open questions",
		Long: `Show a run: its state, what it did, what it asks, what needs a review. Effects are what
a run cannot compute, such as model replies and tool calls; their numbers serve rath
runs settle and rath rerun --from.

` + idHelp,
		Example: "  rath runs show @",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(reading, func(ctx context.Context, r *records, args []string) error {
			stored, err := r.run(ctx, args[0])
			if err != nil {
				return err
			}
			d, err := r.details(ctx, stored)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.writeJSON(d)
			}
			return a.printRun(d)
		}),
	}
}

// runDetails is all of a run.
type runDetails struct {
	store.Run
	Problem   string            `json:"problem,omitempty"` // with the events: there may be more effects
	Traces    []store.Traced    `json:"traces,omitempty"`  // where its executions were told of to OpenTelemetry
	Effects   []effectRow       `json:"effects"`
	Questions []store.Interrupt `json:"questions"`
	Made      []madeRow         `json:"made"`   // by selectors and compressors
	Review    []int64           `json:"review"` // the effects that are to be settled
}

func (r *records) details(ctx context.Context, stored store.Run) (runDetails, error) {
	d := runDetails{Run: stored, Effects: []effectRow{}, Questions: []store.Interrupt{}, Review: []int64{}}
	effects, err := r.effects(ctx, stored.ID)
	if d.Problem, err = damage(err); err != nil {
		return d, err
	}
	get := func(digest session.Digest) ([]byte, error) { return r.Object(ctx, digest) }
	snapshots := sync.OnceValues(func() (*workspace.Store, error) { return openWorkspace(ctx, r.home) })
	for _, x := range effects {
		e := effectRow{Effect: x}
		for _, packed := range []*json.RawMessage{&x.Input, &x.Result.Value} {
			value, err := store.Unpack(*packed, get)
			problem, err := damage(err)
			if err != nil {
				return d, fmt.Errorf("read effect %d of run %s: %w", x.ID, stored.ID, err)
			}
			if problem == "" {
				*packed = value
			}
			e.Problem = cmp.Or(e.Problem, problem)
		}
		if e.Problem == "" {
			e.Files = r.filesOf(ctx, snapshots, x)
		}
		if x.Open() && x.Class == effect.Mutating.String() && stored.State != store.Running {
			d.Review = append(d.Review, x.ID)
		}
		d.Effects = append(d.Effects, e)
	}
	d.Traces = r.traces(ctx, stored.ID)
	if d.Made, err = r.made(ctx, stored.ID); err != nil {
		return d, err
	}
	questions, err := collect(r.Interrupts(ctx, stored.ID))
	d.Questions = append(d.Questions, questions...)
	return d, err
}

// filesOf returns what an effect did to files, nil if nothing.
func (r *records) filesOf(ctx context.Context, snapshots func() (*workspace.Store, error), x *store.Effect) *callFiles {
	_, change, err := r.change(ctx, x)
	if err != nil || change.Before == change.After && change.Problem == "" {
		return nil
	}
	ws, missing := snapshots()
	f := describeChange(ctx, ws, missing, change)
	return &f
}

// damage returns what is to be said of a damaged record, or the error that is none.
func damage(err error) (string, error) {
	if errors.Is(err, store.ErrDamaged) || errors.Is(err, store.ErrNotFound) { // an object that has gone
		return err.Error(), nil
	}
	return "", err
}

// effectRow is an effect in a list.
type effectRow struct {
	*store.Effect
	Problem string     `json:"problem,omitempty"` // what of it cannot be read
	Files   *callFiles `json:"files,omitempty"`   // what it did to the files of the workspace
}

func (e effectRow) cells() []string {
	took, result := "-", "open"
	if e.Done {
		result = resultText(e.Effect)
	}
	if us := e.Result.TookUS; us > 0 {
		took = span(time.Duration(us) * time.Microsecond)
	}
	if e.Problem != "" {
		result = "(damaged) " + result
	}
	if e.Settled != nil {
		result = "(settled: " + string(e.Settled.Verdict) + ") " + result
	}
	return []string{
		strconv.FormatInt(e.ID, 10), strings.TrimSpace(e.Kind + " " + e.Name), e.Path, e.Class,
		strconv.Itoa(e.Attempts), took, oneLine(result, 60),
	}
}

// resultText is the gist of what an effect gave.
func resultText(x *store.Effect) string {
	if x.Result.Error != "" {
		return "error: " + x.Result.Error
	}
	if r, ok := rememberedBy(x); ok {
		return r.gist()
	}
	var value struct {
		Reply struct {
			Chunk *session.Chunk `json:"chunk"`
		} `json:"reply"`
		Chunk *session.Chunk `json:"chunk"`
	}
	if json.Unmarshal(x.Result.Value, &value) != nil {
		return string(x.Result.Value)
	}
	chunk := value.Chunk
	if chunk == nil {
		chunk = value.Reply.Chunk
	}
	if chunk == nil {
		return string(x.Result.Value)
	}
	return strings.Join(chunkLines(*chunk), " ")
}

func (a *app) printRun(d runDetails) error {
	line := func(format string, args ...any) { fmt.Fprintln(a.out, prose(fmt.Sprintf(format, args...))) }
	line("run      %s", d.ID)
	line("state    %s", d.State)
	if d.Error != "" && d.State.Ended() {
		line("error    %s", oneLine(d.Error, 1000))
	}
	line("program  %s (%.12s)", d.Name, d.Program)
	line("begun    %s", when(d.Created, time.RFC3339))
	line("time     %s", span(runRow{d.Run}.took()))
	if !d.Deadline.IsZero() {
		line("until    %s", when(d.Deadline, time.RFC3339))
	}
	if d.Lease.Held(time.Now()) {
		line("driver   %s", ownerText(d.Lease.Owner))
	}
	if !d.Source.IsZero() {
		line("rerun of %s", d.Source)
	}
	line("input    %s", d.Input)
	if !d.Output.IsZero() {
		line("output   %s", d.Output)
	}
	for _, t := range d.Traces {
		line("trace    %s", t.Trace)
	}
	if len(d.Spec) > 0 {
		line("spec     %s", oneLine(string(d.Spec), 400))
	}
	line("events   %d, %s", d.Head.Seq, d.Head.Hash)
	if len(d.Effects) > 0 {
		line("")
	}
	if err := list(a, d.Effects, "N", "EFFECT", "PATH", "CLASS", "TRIES", "TIME", "RESULT"); err != nil {
		return err
	}
	for _, e := range d.Effects {
		if e.Problem != "" {
			line("\neffect %d is damaged: %s", e.ID, e.Problem)
		}
	}
	for _, e := range d.Effects {
		if e.Files != nil {
			line("\neffect %d, %s:", e.ID, e.Name)
			printFiles(line, *e.Files)
		}
	}
	for _, e := range d.Effects {
		if r, ok := rememberedBy(e.Effect); ok {
			printRecalled(line, e.ID, r)
		}
	}
	if len(d.Made) > 0 {
		line("")
	}
	for _, m := range d.Made {
		word, text := m.line()
		line("%s %s", word, text)
	}
	if d.Problem != "" {
		line("\ndamaged: %s", d.Problem)
	}
	d.printOpen(line)
	return nil
}

// printOpen says what the run waits for, and what to do about it.
func (d runDetails) printOpen(line func(string, ...any)) {
	for _, q := range d.Questions {
		switch {
		case q.Open(time.Now()) && !d.State.Ended():
			line("\nquestion %s: %s\n  rath runs decide %s %s --approve, --reject, --edit JSON or --respond TEXT", q.Key, questionText(q.Request), d.ID, q.Key)
		case !q.Decided.IsZero():
			line("\nquestion %s: %s\n  decided: %s", q.Key, questionText(q.Request), oneLine(string(q.Decision), 300))
		}
	}
	if d.State.Ended() {
		return
	}
	for _, n := range d.Review {
		line("\neffect %d needs a review: nobody knows whether it happened\n  rath runs settle %s %d --result JSON, --not-done or --abort", n, d.ID, n)
	}
}

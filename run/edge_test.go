package run_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
)

// blocked is a workflow that stands in a read-only effect until its context ends, once,
// and then does a mutating one.
func blocked(mutated *atomic.Int64) flow.Workflow {
	var first atomic.Bool
	return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		_, err := effect.Do(ctx, effect.Call{Kind: "x", Name: "read", Class: effect.ReadOnly}, func(ctx context.Context) (int, error) {
			if first.CompareAndSwap(false, true) {
				<-ctx.Done()
			}
			return 1, ctx.Err()
		})
		if err != nil {
			return s, err
		}
		_, err = effect.Do(ctx, effect.Call{Kind: "x", Name: "change"}, func(context.Context) (int, error) { mutated.Add(1); return 1, nil })
		return s, err
	})
}

// Somebody wants the end of a run while nobody drives it, or when it is just put down.
func TestCancelledRunsDoNotGoOn(t *testing.T) {
	for _, before := range []bool{true, false} {
		st := open(t)
		var mutated atomic.Int64
		r := run.New(st, nil)
		ctx, cancel := context.WithCancel(t.Context())
		h, err := r.Start(ctx, "demo", blocked(&mutated), session.FromUser("x"))
		if err != nil {
			t.Fatal(err)
		}
		if before {
			err = st.CancelRun(t.Context(), h.ID())
		}
		cancel()
		_, _ = h.Wait()
		if !before {
			err = st.CancelRun(t.Context(), h.ID())
			if _, resumed := r.Resume(t.Context(), h.ID()); !errors.Is(resumed, run.ErrCancelled) {
				t.Errorf("a cancelled run is resumed: %v", resumed)
			}
		}
		if got, _ := st.Run(t.Context(), h.ID()); err != nil || got.State != store.Cancelled || mutated.Load() != 0 {
			t.Errorf("before %v: %v, %s, %d mutating effects", before, err, got.State, mutated.Load())
		}
	}
}

// What had not begun when the run was put down needs no review.
func TestPutDownBeginsNothing(t *testing.T) {
	for _, pause := range []time.Duration{105, 115, 125, 140, 160} {
		st := open(t)
		w := &flow.Parallel{Branches: []flow.Workflow{
			flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
				_, err := flow.Interrupt(ctx, flow.Request{Key: "k", Kind: flow.KindInput})
				return s, err
			}),
			flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
				time.Sleep(pause * time.Millisecond) // at work, and no effect tells
				if ctx.Err() == nil {
					return s, nil // it was in time after all
				}
				_, err := effect.Do(ctx, effect.Call{Kind: "x", Name: "change"}, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
				return s, err
			}),
		}}
		h, err := run.New(st, nil).Start(t.Context(), "demo", w, session.FromUser("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(); !errors.Is(err, run.ErrWaiting) || h.State() != store.Waiting {
			t.Errorf("after %d ms: %v, %s", pause, err, h.State())
		}
	}
}

// A question within a tool puts the run down if the tool may be entered again.
func TestInterruptInTool(t *testing.T) {
	st := open(t)
	ask := tool.New("ask", "", func(ctx context.Context, _ textInput) (string, error) {
		d, err := flow.Interrupt(ctx, flow.Request{Key: "k", Kind: flow.KindInput})
		return d.Text, err
	})
	ask.Class = effect.ReadOnly
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", &flow.Agent{Name: "a", Model: steps("ask"), Tools: tool.Set{ask}}, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, run.ErrWaiting) {
		t.Fatal(err)
	}
	for i, err := range st.Interrupts(t.Context(), h.ID()) {
		if err != nil || r.Decide(t.Context(), h.ID(), i.Key, flow.Decision{Verdict: flow.Respond, Text: "blue"}) != nil {
			t.Fatal(i.Key, err)
		}
	}
	h, err = r.Resume(t.Context(), h.ID())
	if out := finish(t, h, err); out.At(2).Text() != "blue" {
		t.Errorf("%q", out.At(2).Text())
	}
}

// deafStore keeps so many batches, and then none: as if the process died right then.
type deafStore struct {
	store.Store
	left atomic.Int64
	dead chan error // closed at the end of the test
}

func (s *deafStore) Append(ctx context.Context, l store.Lease, b store.Batch) store.Commit {
	if s.left.Add(-1) < 0 {
		return s.dead
	}
	return s.Store.Append(ctx, l, b)
}

// A rerun that dies at once has what it took over all the same.
func TestRerunThatDies(t *testing.T) {
	st := open(t)
	var calls atomic.Int64
	a := &flow.Agent{Name: "a", Model: steps("put", "put", "put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", a, session.FromUser("x"))
	out := finish(t, h, err)
	effects, err := store.Effects(st.Events(t.Context(), h.ID(), 0))
	if err != nil {
		t.Fatal(err)
	}
	calls.Store(0)
	deaf := &deafStore{Store: st, dead: make(chan error)}
	ctx, cancel := context.WithCancel(t.Context())
	again, err := run.New(deaf, &run.Options{Lease: 100 * time.Millisecond}).Rerun(ctx, h.ID(), a, effects[len(effects)-1].ID)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		close(deaf.dead)
		_, _ = again.Wait()
	}()
	cancel()
	if _, err := st.Acquire(t.Context(), again.ID(), "thief", time.Minute, 1); err != nil {
		t.Fatal(err)
	}
	got, err := st.Run(t.Context(), again.ID())
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Release(t.Context(), got.Lease); err != nil {
		t.Fatal(err)
	}
	h, err = r.Resume(t.Context(), again.ID())
	if redone := finish(t, h, err); redone.Digest() != out.Digest() || calls.Load() != 0 {
		t.Errorf("%d calls were made again", calls.Load())
	}
}

// A replay must come to the end that the run had.
func TestReplayComparesTheEnd(t *testing.T) {
	st := open(t)
	r := run.New(st, nil)
	ends := func(err error) flow.Workflow {
		return flow.Func(func(_ context.Context, s session.Session) (session.Session, error) { return s, err })
	}
	for _, test := range []struct {
		name      string
		was, is   error
		diverges  bool
		wantError string
	}{
		{"the same failure", errors.New("one"), errors.New("one"), false, "one"},
		{"another failure", errors.New("one"), errors.New("two"), true, ""},
		{"no failure", errors.New("one"), nil, true, ""},
		{"a failure", nil, errors.New("one"), true, ""},
	} {
		h, err := r.Start(t.Context(), "demo", ends(test.was), session.FromUser("x"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = h.Wait()
		_, err = r.Replay(t.Context(), h.ID(), ends(test.is))
		if errors.As(err, new(*run.Divergence)) != test.diverges || !test.diverges && err.Error() != test.wantError {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Bytes that are no text do not survive JSON: the program sees at once what a replay will.
func TestBinaryResults(t *testing.T) {
	r := run.New(open(t), nil)
	w := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		text, err := effect.Do(ctx, effect.Call{Kind: "x", Class: effect.ReadOnly}, func(context.Context) (string, error) { return "a\xff", nil })
		if text == "a\xff" {
			return s.Append(session.User(session.Text("raw"))), err
		}
		return s.Append(session.User(session.Text("as kept"))), err
	})
	h, err := r.Start(t.Context(), "demo", w, session.FromUser("x"))
	if out := finish(t, h, err); out.Text() != "as kept" {
		t.Error(out.Text())
	}
	if _, err := r.Replay(t.Context(), h.ID(), w); err != nil {
		t.Error(err)
	}
}

// A result that is too large to be kept fails the run; it does not hang.
func TestHugeResult(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("takes seconds")
	}
	huge := strings.Repeat("0123456789abcdef", 50<<20/16)
	for _, class := range []effect.Class{effect.ReadOnly, effect.Mutating} {
		r := run.New(open(t), nil)
		get := tool.New("get", "", func(context.Context, textInput) (string, error) { return huge, nil })
		get.Class, get.MaxOutput = class, -1
		h, err := r.Start(t.Context(), "demo", &flow.Agent{Name: "a", Model: steps("get"), Tools: tool.Set{get}}, session.FromUser("x"))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.Wait(); !errors.Is(err, run.ErrTooLarge) || h.State() != store.Failed || out.At(2).Answer().Outcome != session.Interrupted {
			t.Errorf("%s: %v, %s", class, err, h.State())
		}
	}
}

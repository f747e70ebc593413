package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
	"go.uber.org/goleak"
)

func open(t testing.TB) store.Store {
	t.Helper()
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "rath.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return st
}

type textInput struct {
	Text string `json:"text"`
}

// counted is a tool that counts its calls.
func counted(name string, class effect.Class, calls *atomic.Int64) *tool.Tool {
	t := tool.New(name, "Count.", func(_ context.Context, in textInput) (string, error) {
		calls.Add(1)
		return name + " " + in.Text, nil
	})
	t.Class = class
	return t
}

// steps is a model that calls the tools in turn, then answers.
func steps(tools ...string) *scripted.Model {
	return scripted.Func(func(req *llm.Request) scripted.Reply {
		results := 0
		for _, c := range req.Messages.All() {
			if c.Kind() == session.KindToolResult {
				results++
			}
		}
		if results == len(tools) {
			return scripted.Reply{Text: "done", Usage: &session.Usage{Input: 7, Output: 2}}
		}
		call := scripted.Call(tools[results], fmt.Sprintf(`{"text":"n%d"}`, results))
		call.ID = fmt.Sprint("call_", results)
		return scripted.Reply{Calls: []session.Call{call}, Usage: &session.Usage{Input: 5, Output: 1}}
	})
}

func finish(t *testing.T, h *run.Handle, err error) session.Session {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func eventKinds(t *testing.T, st store.Store, id session.ID) (kinds []string) {
	t.Helper()
	head := store.Head{}
	for e, err := range st.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if !e.Follows(head) {
			t.Errorf("event %d does not follow", e.Seq)
		}
		head = e.Head()
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestMain(m *testing.M) {
	if runProgram() {
		return
	}
	goleak.VerifyTestMain(m)
}

func TestRunIsKept(t *testing.T) {
	st := open(t)
	r := run.New(st, nil)
	var calls atomic.Int64
	a := &flow.Agent{Name: "a", Prompt: "p", Model: steps("put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}
	in := session.FromUser("x")
	h, err := r.Start(t.Context(), "demo", a, in, run.WithSpec(json.RawMessage(`{"k":1}`)))
	out := finish(t, h, err)
	got, err := st.Run(t.Context(), h.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got.State != store.Succeeded || got.Name != "demo" || got.Program != flow.Fingerprint(a) || got.Input != in.ID() || got.Output != out.ID() || string(got.Spec) != `{"k":1}` {
		t.Errorf("%+v", got)
	}
	kept, err := st.Session(t.Context(), out.ID())
	if err != nil || kept.Digest() != out.Digest() || kept.Lineage().Run != h.ID().String() || kept.Usage() != out.Usage() {
		t.Errorf("%+v, %v", kept.Lineage(), err)
	}
	want := []string{"run.created", "effect.noted", "effect.intent", "effect.result", "effect.intent", "effect.result", "effect.intent", "effect.result", "session", "run.state"}
	if diff := cmp.Diff(want, eventKinds(t, st, h.ID())); diff != "" {
		t.Error(diff)
	}
	effects, err := store.Effects(st.Events(t.Context(), h.ID(), 0))
	if err != nil || len(effects) != 4 || effects[2].Kind != "tool" || effects[2].Path != "a/put:call_0" || !effects[2].Done {
		t.Errorf("%+v, %v", effects[2], err)
	}
}

// Putting a run down by its context, and driving it on in another runner.
func TestResumeRepeatsNothing(t *testing.T) {
	st := open(t)
	var once, after atomic.Int64
	var stop context.CancelFunc
	put := counted("put", effect.Mutating, &once)
	halt := counted("halt", effect.ReadOnly, &after)
	inner := halt.Run
	halt.Run = func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
		if stop != nil {
			stop()
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}
		return inner(ctx, args)
	}
	var asked atomic.Int64
	model := steps("put", "halt", "put")
	counting := &countingModel{model, &asked}
	a := &flow.Agent{Name: "a", Model: counting, Tools: tool.Set{put, halt}}
	ctx, cancel := context.WithCancel(t.Context())
	stop = cancel
	h, err := run.New(st, nil).Start(ctx, "demo", flow.Sequence{a, flow.Func(fork)}, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	partial, err := h.Wait()
	if !errors.Is(err, context.Canceled) || h.State() != store.Queued || partial.Len() != 5 {
		t.Fatalf("%v, %s, %d chunks", err, h.State(), partial.Len())
	}
	stop = nil
	second := run.New(st, nil)
	if _, err := second.Resume(t.Context(), h.ID()); !errors.Is(err, run.ErrUnknownWorkflow) {
		t.Errorf("a run of an unknown workflow: %v", err)
	}
	second.Register("demo", flow.Sequence{a, flow.Func(fork)})
	h, err = second.Resume(t.Context(), h.ID())
	out := finish(t, h, err)
	if once.Load() != 2 || after.Load() != 1 || asked.Load() != 4 {
		t.Errorf("put ran %d times, halt %d, the model %d", once.Load(), after.Load(), asked.Load())
	}
	if out.Text() != "done" || len(out.Lineage().Parents) != 1 {
		t.Errorf("%q %+v", out.Text(), out.Lineage())
	}
	if agent, _ := st.Session(t.Context(), out.Lineage().Parents[0].ID); agent.ID() != partial.ID() || agent.Lineage().Time != partial.Lineage().Time {
		t.Error("the resumed agent made another session than the first one")
	}
	if _, err := second.Resume(t.Context(), h.ID()); !errors.Is(err, store.ErrEndedRun) {
		t.Errorf("an ended run is resumed: %v", err)
	}
	eventKinds(t, st, h.ID())
}

func fork(_ context.Context, s session.Session) (session.Session, error) { return s.Fork(), nil }

type countingModel struct {
	llm.Model
	n *atomic.Int64
}

func (m *countingModel) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	m.n.Add(1)
	return m.Model.Stream(ctx, req)
}

// A program that has changed is told so, and the run waits for the right one.
func TestResumeDiverges(t *testing.T) {
	st := open(t)
	var calls atomic.Int64
	stop := make(chan struct{}, 1)
	build := func(prompt string) flow.Workflow {
		put := counted("put", effect.Idempotent, &calls)
		halt := tool.New("halt", "", func(ctx context.Context, _ textInput) (string, error) {
			select {
			case stop <- struct{}{}:
				<-ctx.Done()
				return "", ctx.Err()
			default:
				return "on", nil
			}
		})
		halt.Class = effect.ReadOnly
		return &flow.Agent{Name: "a", Prompt: prompt, Model: steps("put", "halt"), Tools: tool.Set{put, halt}}
	}
	r := run.New(st, &run.Options{Durability: run.Full})
	ctx, cancel := context.WithCancel(t.Context())
	h, err := r.Start(ctx, "demo", build("p"), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	for len(stop) == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	_, _ = h.Wait()
	r.Register("demo", build("q"))
	if _, err := r.Resume(t.Context(), h.ID()); !errors.Is(err, run.ErrUnknownWorkflow) {
		t.Errorf("a changed program: %v", err)
	}
	h, err = r.ResumeWith(t.Context(), h.ID(), build("q"))
	if err != nil {
		t.Fatal(err)
	}
	var d *run.Divergence
	if _, err := h.Wait(); !errors.As(err, &d) || d.Path != "a" || d.Field != "input.prompt.digest" || h.State() != store.Queued {
		t.Errorf("%v, %s", err, h.State())
	}
	r.Register("demo", build("p"))
	handles, err := r.Recover(t.Context())
	if err != nil || len(handles) != 1 {
		t.Fatal(len(handles), err)
	}
	if out, err := handles[0].Wait(); err != nil || out.Text() != "done" || calls.Load() != 1 {
		t.Errorf("%q, %v, %d calls", out.Text(), err, calls.Load())
	}
}

// A panic fails its run and no other.
func TestPanic(t *testing.T) {
	r := run.New(open(t), &run.Options{Log: slog.New(slog.DiscardHandler)})
	h, err := r.Start(t.Context(), "demo", flow.Func(func(context.Context, session.Session) (session.Session, error) { panic("oh") }), session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); err == nil || !strings.Contains(err.Error(), "oh") || h.State() != store.Failed {
		t.Errorf("%v, %s", err, h.State())
	}
}

// Two branches and the failure of one: the record replays, the cut-off branch too.
func TestReplayOfAFailedRun(t *testing.T) {
	st := open(t)
	boom := errors.New("boom")
	var once sync.Once
	slow := make(chan struct{})
	w := &flow.Parallel{Branches: []flow.Workflow{
		&flow.Agent{Name: "slow", Model: scripted.New(scripted.Reply{Text: "never", Delay: time.Hour})},
		flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			if _, err := effect.Now(ctx); err != nil {
				return s, err
			}
			once.Do(func() { <-slow })
			return s.Append(session.User(session.Text("half"))), boom
		}),
	}}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", w, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	for begun := false; !begun; {
		for e := range st.Events(t.Context(), h.ID(), 0) {
			begun = begun || strings.Contains(string(e.Body), `"kind":"model"`)
		}
	}
	close(slow)
	out, err := h.Wait()
	if !errors.Is(err, boom) || h.State() != store.Failed {
		t.Fatalf("%v, %s", err, h.State())
	}
	again, err := r.Replay(t.Context(), h.ID(), w)
	if !errors.Is(err, boom) || again.Digest() != out.Digest() {
		t.Errorf("%v, %s, %s", err, again.Digest(), out.Digest())
	}
}

// fullStore is a store whose disk is full from some batch on.
type fullStore struct {
	store.Store
	left atomic.Int64
}

var errFull = errors.New("the disk is full")

func (s *fullStore) Append(ctx context.Context, l store.Lease, b store.Batch) store.Commit {
	left := s.left.Add(-1)
	if left >= 0 {
		return s.Store.Append(ctx, l, b)
	}
	failed := make(chan error, 1)
	if left == -1 {
		failed <- errFull
	} else {
		failed <- errors.New("the event does not follow")
	}
	return failed
}

// Nobody waits for the batch that fails; whoever waits next is told of it, and no tool
// runs whose intent is not on disk.
func TestFullDisk(t *testing.T) {
	for n := range int64(4) {
		st := &fullStore{Store: open(t)}
		st.left.Store(n)
		var calls atomic.Int64
		h, err := run.New(st, nil).Start(t.Context(), "demo", &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}, session.FromUser("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Wait(); !errors.Is(err, errFull) || calls.Load() != 0 {
			t.Errorf("after %d batches: %v, the tool ran %d times", n, err, calls.Load())
		}
		if got, _ := st.Run(t.Context(), h.ID()); got.State != store.Running {
			t.Errorf("%+v", got)
		}
	}
}

func TestWatchAndWait(t *testing.T) {
	st := open(t)
	r, other := run.New(st, nil), run.New(st, nil)
	var calls atomic.Int64
	h, err := r.Start(t.Context(), "demo", &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	var last string
	for e, err := range other.Watch(t.Context(), h.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = e.Kind
	}
	if last != store.EventState {
		t.Errorf("the last event is %s", last)
	}
	if got, err := other.Wait(t.Context(), h.ID()); err != nil || got.State != store.Succeeded {
		t.Errorf("%+v, %v", got, err)
	}
	_, _ = h.Wait()
}

func TestReviewAndThreeWaysToSettle(t *testing.T) {
	for _, test := range []struct {
		name    string
		settled store.Settled
		runs    int64 // of the tool, the first included
		result  string
		state   store.State
	}{
		{"result", store.Settled{Verdict: store.VerdictResult, Value: json.RawMessage(`"by hand"`)}, 1, "by hand", store.Succeeded},
		{"object", store.Settled{Verdict: store.VerdictResult, Value: json.RawMessage(`{"n":1}`)}, 1, `{"n":1}`, store.Succeeded},
		{"not done", store.Settled{Verdict: store.VerdictNotDone}, 2, "put n0", store.Succeeded},
		{"abort", store.Settled{Verdict: store.VerdictAbort}, 1, "", store.Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			st := open(t)
			var calls atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			put := counted("put", effect.Mutating, &calls)
			inner, first := put.Run, true
			put.Run = func(ctx context.Context, args json.RawMessage) (tool.Result, error) {
				r, err := inner(ctx, args)
				if first {
					first = false
					cancel()
					return r, ctx.Err() // the result is lost
				}
				return r, err
			}
			a := &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{put}}
			r := run.New(st, nil)
			h, err := r.Start(ctx, "demo", a, session.FromUser("x"))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = h.Wait()
			_, err = r.Resume(t.Context(), h.ID())
			var review *run.ReviewError
			if !errors.As(err, &review) || len(review.Effects) != 1 || review.Effects[0].Name != "put" {
				t.Fatalf("no review: %v", err)
			}
			if got, _ := st.Run(t.Context(), h.ID()); got.State != store.NeedsReview || got.Lease.Held(time.Now()) {
				t.Errorf("%+v", got)
			}
			if _, err := r.Resume(t.Context(), h.ID()); !errors.As(err, &review) {
				t.Errorf("unsettled, it is resumed: %v", err)
			}
			test.settled.Effect = review.Effects[0].ID
			if err := r.Settle(t.Context(), h.ID(), store.Settled{Effect: 1, Verdict: store.VerdictNotDone}); !errors.Is(err, run.ErrNotOpen) {
				t.Errorf("settled what is not open: %v", err)
			}
			if err := r.Settle(t.Context(), h.ID(), test.settled); err != nil {
				t.Fatal(err)
			}
			if test.state == store.Failed {
				if got, _ := st.Run(t.Context(), h.ID()); got.State != store.Failed {
					t.Errorf("%+v", got)
				}
				return
			}
			h, err = r.Resume(t.Context(), h.ID())
			out := finish(t, h, err)
			if calls.Load() != test.runs || out.At(2).Text() != test.result || out.At(2).Answer().Outcome != session.OK {
				t.Errorf("%d calls, %q", calls.Load(), out.At(2).Text())
			}
			eventKinds(t, st, h.ID())
			replayed, err := r.Replay(t.Context(), h.ID(), a)
			if err != nil || replayed.Digest() != out.Digest() {
				t.Errorf("the replay: %v", err)
			}
			again, err := r.Rerun(t.Context(), h.ID(), a, 1<<40) // takes everything over
			redone := finish(t, again, err)
			if back, err := r.Replay(t.Context(), again.ID(), a); err != nil || redone.Digest() != out.Digest() || back.Digest() != out.Digest() {
				t.Errorf("the rerun: %v", err)
			}
		})
	}
}

// Two branches ask at once; the run is put down; it goes on with the answers.
func TestInterrupts(t *testing.T) {
	st := open(t)
	var calls atomic.Int64
	put := counted("put", effect.Mutating, &calls)
	put.Approval = true
	two := scripted.Func(func(req *llm.Request) scripted.Reply {
		if req.Messages.Last().Kind() == session.KindToolResult {
			return scripted.Reply{Text: "done"}
		}
		one, other := scripted.Call("put", `{"text":"1"}`), scripted.Call("put", `{"text":"2"}`)
		one.ID, other.ID = "c1", "c2"
		return scripted.Reply{Calls: []session.Call{one, other}}
	})
	input := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		d, err := flow.Interrupt(ctx, flow.Request{Key: "name", Kind: flow.KindInput, Message: "Your name?"})
		if err != nil {
			return s, err
		}
		return s.Append(session.User(session.Text(d.Text))), nil
	})
	w := &flow.Parallel{Branches: []flow.Workflow{&flow.Agent{Name: "a", Model: two, Tools: tool.Set{put}}, input}}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", w, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, run.ErrWaiting) || h.State() != store.Waiting {
		t.Fatalf("%v, %s", err, h.State())
	}
	var keys []string
	for i, err := range st.Interrupts(t.Context(), h.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, i.Kind+" "+i.Key)
	}
	if len(keys) != 3 {
		t.Fatalf("asked %q", keys)
	}
	key := func(part string) string {
		for _, k := range keys {
			if strings.Contains(k, part) {
				return strings.Fields(k)[1]
			}
		}
		t.Fatalf("no key of %s in %q", part, keys)
		return ""
	}
	for part, d := range map[string]flow.Decision{
		"c1":   {Verdict: flow.Edit, Arguments: `{"text":"edited"}`, By: "ann"},
		"c2":   {Verdict: flow.Reject, Text: "not that one", By: "ann"},
		"name": {Verdict: flow.Respond, Text: "Bob"},
	} {
		if err := r.Decide(t.Context(), h.ID(), key(part), d); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Decide(t.Context(), h.ID(), key("c1"), flow.Decision{Verdict: flow.Approve}); !errors.Is(err, store.ErrDecided) {
		t.Errorf("decided twice: %v", err)
	}
	h, err = r.Resume(t.Context(), h.ID())
	out := finish(t, h, err)
	var texts []string
	for _, c := range out.All() {
		if c.Kind() != session.KindAssistant {
			texts = append(texts, c.Text())
		}
	}
	if calls.Load() != 1 || texts[1] != "put edited" || !strings.Contains(texts[2], "not that one") || texts[3] != "Bob" {
		t.Errorf("%d calls, %q", calls.Load(), texts)
	}
	replayed, err := r.Replay(t.Context(), h.ID(), w)
	if err != nil || replayed.Digest() != out.Digest() {
		t.Errorf("replay: %v", err)
	}
}

func TestInterruptHere(t *testing.T) {
	st := open(t)
	ask := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		var texts []string
		for range 2 { // the same key again, after its answer
			d, err := flow.Interrupt(ctx, flow.Request{Key: "k", Kind: flow.KindInput})
			if err != nil {
				return s, err
			}
			texts = append(texts, d.Text)
		}
		return s.Append(session.User(session.Text(strings.Join(texts, ",")))), nil
	})
	n := 0
	r := run.New(st, &run.Options{Decide: func(context.Context, flow.Question) (flow.Decision, error) {
		n++
		return flow.Decision{Verdict: flow.Respond, Text: fmt.Sprint(n)}, nil
	}})
	h, err := r.Start(t.Context(), "demo", ask, session.Session{})
	if out := finish(t, h, err); out.Text() != "1,2" {
		t.Error(out.Text())
	}
	expires := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		_, err := flow.Interrupt(ctx, flow.Request{Key: "k", Kind: flow.KindReview, Within: time.Millisecond})
		return s, err
	})
	r = run.New(st, &run.Options{Patience: -1})
	h, err = r.Start(t.Context(), "demo", expires, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, flow.ErrExpired) || h.State() != store.Failed {
		t.Errorf("%v, %s", err, h.State())
	}
	if _, err := r.Replay(t.Context(), h.ID(), expires); !errors.Is(err, flow.ErrExpired) {
		t.Errorf("replay: %v", err)
	}
}

func TestCancelAndTimeout(t *testing.T) {
	st := open(t)
	block := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		<-ctx.Done()
		return s, ctx.Err()
	})
	r := run.New(st, &run.Options{Lease: 500 * time.Millisecond})
	other := run.New(st, nil)
	for _, test := range []struct {
		name    string
		cancel  func(id session.ID) error
		options []run.StartOption
		want    error
		state   store.State
	}{
		{"here", func(id session.ID) error { return r.Cancel(t.Context(), id) }, nil, run.ErrCancelled, store.Cancelled},
		{"from another process", func(id session.ID) error { return other.Cancel(t.Context(), id) }, nil, run.ErrCancelled, store.Cancelled},
		{"deadline", func(session.ID) error { return nil }, []run.StartOption{run.WithTimeout(time.Millisecond)}, run.ErrTimedOut, store.TimedOut},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := r.Start(t.Context(), "demo", block, session.FromUser("x"), test.options...)
			if err != nil {
				t.Fatal(err)
			}
			if err := test.cancel(h.ID()); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Wait(); !errors.Is(err, test.want) {
				t.Error(err)
			}
			if got, _ := st.Run(t.Context(), h.ID()); got.State != test.state {
				t.Errorf("%+v", got)
			}
			if err := r.Cancel(t.Context(), h.ID()); !errors.Is(err, store.ErrEndedRun) {
				t.Errorf("an ended run is cancelled: %v", err)
			}
		})
	}
}

func TestLostLeaseStopsTheRun(t *testing.T) {
	st := open(t)
	started := make(chan struct{})
	w := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		close(started)
		<-ctx.Done()
		return s.Append(session.User(session.Text("mine"))), nil
	})
	h, err := run.New(st, &run.Options{Lease: 200 * time.Millisecond}).Start(t.Context(), "demo", w, session.FromUser("x"))
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if _, err := st.Acquire(t.Context(), h.ID(), "thief", time.Minute, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, store.ErrFenced) {
		t.Error(err)
	}
	if got, _ := st.Run(t.Context(), h.ID()); got.State != store.Running || got.Lease.Owner != "thief" || !got.Output.IsZero() {
		t.Errorf("%+v", got)
	}
}

func TestReplayDiverges(t *testing.T) {
	st := open(t)
	var calls atomic.Int64
	build := func(change string) flow.Workflow {
		put := counted("put", effect.Mutating, &calls)
		prompt, names := "be brief", []string{"first", "second"}
		switch change {
		case "prompt":
			prompt = "be verbose"
		case "schema":
			put.Schema = json.RawMessage(strings.Replace(string(put.Schema), `"string"`, `"integer"`, 1))
		case "order":
			names = []string{"second", "first"}
		}
		var branches []flow.Workflow
		for _, name := range names {
			branches = append(branches, &flow.Agent{Name: name, Prompt: prompt, Model: steps("put"), Tools: tool.Set{put}})
		}
		w := &flow.Parallel{Branches: branches}
		switch change {
		case "less":
			return branches[0]
		case "more":
			return flow.Sequence{w, branches[0]}
		}
		return w
	}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", build(""), session.FromUser("x"))
	out := finish(t, h, err)
	for _, test := range []struct{ change, path, field string }{
		{"prompt", "0/first", "input.prompt.digest"},
		{"schema", "0/first", "input.tools[put].schema.properties.text.type"},
		{"order", "0/second", "path"},
		{"less", "first", "path"},
		{"more", "first", "path"},
	} {
		t.Run(test.change, func(t *testing.T) {
			before := calls.Load()
			_, err := r.Replay(t.Context(), h.ID(), build(test.change))
			var d *run.Divergence
			if !errors.As(err, &d) {
				t.Fatalf("no divergence: %v", err)
			}
			if !strings.HasPrefix(strings.NewReplacer("1/second", "0/first", "1/first", "0/second").Replace(d.Path), test.path) || d.Kind != "model" || test.field != d.Field && test.field != "path" {
				t.Errorf("%+v", d)
			}
			t.Log(err)
			if calls.Load() != before {
				t.Error("a tool ran")
			}
		})
	}
	replayed, err := r.Replay(t.Context(), h.ID(), build(""))
	if err != nil || replayed.Digest() != out.Digest() || replayed.ID() != out.ID() {
		t.Errorf("%v: %s, %s", err, replayed.ID(), out.ID())
	}
}

func TestRerun(t *testing.T) {
	st := open(t)
	var calls, asked atomic.Int64
	a := &flow.Agent{Name: "a", Model: &countingModel{steps("put", "put"), &asked}, Tools: tool.Set{counted("put", effect.Mutating, &calls)}}
	r := run.New(st, nil)
	h, err := r.Start(t.Context(), "demo", a, session.FromUser("x"))
	out := finish(t, h, err)
	effects, err := store.Effects(st.Events(t.Context(), h.ID(), 0))
	if err != nil {
		t.Fatal(err)
	}
	var second int64 // the second call of the tool
	for _, x := range effects {
		if x.Kind == "tool" {
			second = x.ID
		}
	}
	calls.Store(0)
	asked.Store(0)
	again, err := r.Rerun(t.Context(), h.ID(), a, second)
	redone := finish(t, again, err)
	if calls.Load() != 1 || asked.Load() != 1 || redone.Digest() != out.Digest() || redone.ID() == out.ID() {
		t.Errorf("put ran %d times, the model %d", calls.Load(), asked.Load())
	}
	if got, _ := st.Run(t.Context(), again.ID()); got.Source != h.ID() {
		t.Errorf("%+v", got)
	}
	if back, err := r.Replay(t.Context(), again.ID(), a); err != nil || back.ID() != redone.ID() {
		t.Errorf("the rerun does not replay: %v", err)
	}
}

func TestCassette(t *testing.T) {
	var calls atomic.Int64
	c := run.Cassette{Path: filepath.Join(t.TempDir(), "sub", "demo.jsonl")}
	build := func(prompt string) flow.Workflow {
		return &flow.Agent{Name: "a", Prompt: prompt, Model: steps("put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}
	}
	in := session.FromUser(strings.Repeat("long ", 100))
	if _, err := c.Run(t.Context(), build("p"), in); !errors.Is(err, run.ErrNoCassette) {
		t.Errorf("nothing recorded: %v", err)
	}
	c.Record = true
	out, err := c.Run(t.Context(), build("p"), in)
	if err != nil {
		t.Fatal(err)
	}
	c.Record = false
	back, err := c.Run(t.Context(), build("p"), in)
	if err != nil || back.Digest() != out.Digest() || calls.Load() != 1 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
	var d *run.Divergence
	if _, err := c.Run(t.Context(), build("q"), in); !errors.As(err, &d) || d.Nearest == nil || calls.Load() != 1 {
		t.Errorf("%v, %d calls", err, calls.Load())
	}
}

// Many runs at once in one store, and all of them right.
func TestManyRuns(t *testing.T) {
	st := open(t)
	r := run.New(st, nil)
	var calls atomic.Int64
	a := &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{counted("put", effect.Mutating, &calls)}}
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 10 {
				h, err := r.Start(t.Context(), "demo", a, session.FromUser("x"))
				if err != nil {
					t.Error(err)
					return
				}
				if out, err := h.Wait(); err != nil || out.Text() != "done" {
					t.Errorf("%q, %v", out.Text(), err)
				}
			}
		})
	}
	wg.Wait()
	if calls.Load() != 160 {
		t.Errorf("%d calls", calls.Load())
	}
}

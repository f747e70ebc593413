package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
)

// journal keeps what effects gave by their path, kind and name, and answers from what
// it knows.
type journal struct {
	known map[string]effect.Outcome

	mu   sync.Mutex
	gave map[string]effect.Outcome
}

func (j *journal) Begin(_ context.Context, path string, call effect.Call) (effect.Entry, error) {
	return &entry{j, nameOf(path, call)}, nil
}

func (j *journal) Knows(path string, call effect.Call) bool {
	_, ok := j.known[nameOf(path, call)]
	return ok
}

func nameOf(path string, call effect.Call) string {
	return path + " " + call.Kind + " " + call.Name
}

type entry struct {
	journal *journal
	name    string
}

func (e *entry) Recorded() (effect.Outcome, bool) {
	out, ok := e.journal.known[e.name]
	return out, ok
}

func (e *entry) Context(ctx context.Context) context.Context { return ctx }

func (e *entry) End(_ context.Context, out effect.Outcome) error {
	e.journal.mu.Lock()
	defer e.journal.mu.Unlock()
	if e.journal.gave == nil {
		e.journal.gave = map[string]effect.Outcome{}
	}
	e.journal.gave[e.name] = out
	return nil
}

// names are those of the effects that have ended.
func (j *journal) names() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var names []string
	for name := range j.gave {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func calling(names ...string) (calls []session.Call) {
	for i, name := range names {
		calls = append(calls, session.Call{ID: fmt.Sprint("c", i), Name: name, Arguments: `{"text":"a"}`})
	}
	return calls
}

func texts(chunks []session.Chunk) (texts []string) {
	for _, c := range chunks {
		texts = append(texts, c.Answer().Outcome.String()+" "+c.Text())
	}
	return texts
}

// What happens within a call belongs to the call's scope: calls of one tool can be told
// apart, also where they run at once.
func TestEveryCallHasAScope(t *testing.T) {
	inner := readOnly("inner", func(ctx context.Context, _ input) (any, error) { return effect.Path(ctx), nil })
	outer := readOnly("outer", func(ctx context.Context, _ input) (any, error) {
		if _, err := effect.Now(ctx); err != nil {
			return nil, err
		}
		chunks, err := chunksOf((&Dispatch{Tools: Set{inner}}).Run(ctx, SessionOf(ctx), calling("inner")))
		return chunks[0].Text(), err
	})
	outer.Approval = true
	j := &journal{}
	ctx := WithApprover(effect.Scope(effect.WithJournal(t.Context(), j), "agent"), AllowAll)
	chunks, err := chunksOf((&Dispatch{Tools: Set{outer}}).Run(ctx, session.Session{}, calling("outer", "outer")))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ok agent/outer:c0/inner:c0", "ok agent/outer:c1/inner:c0"}, texts(chunks)); diff != "" {
		t.Error(diff)
	}
	var want []string
	for _, path := range []string{"agent/outer:c0", "agent/outer:c1"} {
		want = append(want, path+" approval outer", path+" clock now", path+" tool outer", path+"/inner:c0 tool inner")
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, j.names()); diff != "" {
		t.Error(diff)
	}
}

// A call whose result is on record does nothing: it names no locks and waits for none.
func TestRecordedCallsTakeNoLocks(t *testing.T) {
	sb, err := local.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	s := session.Session{}.To(sb)
	did := 0
	work := func(name string) *Tool {
		return New(name, "", func(context.Context, input) (string, error) { did++; return name, nil })
	}
	everything, file := work("everything"), work("file")
	file.Locks = func(context.Context, json.RawMessage) ([]Lock, error) { did++; return []Lock{WriteFile("a")}, nil }
	d := Dispatch{Tools: Set{everything, file}}
	j := &journal{}
	first, err := chunksOf(d.Run(effect.WithJournal(t.Context(), j), s, calling("everything", "file")))
	if err != nil || did != 3 {
		t.Fatalf("did %d things, %v", did, err)
	}

	held, err := shared.add(nil, placeOf(s).absolute(Everything()))
	if err != nil {
		t.Fatal(err)
	}
	defer shared.release(held)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again, err := chunksOf(d.Run(effect.WithJournal(ctx, &journal{known: j.gave}), s, calling("everything", "file")))
	if diff := cmp.Diff(texts(first), texts(again)); diff != "" || err != nil || did != 3 {
		t.Errorf("did %d things, %v\n%s", did, err, diff)
	}
}

// What a person says that a tool gave is the tool's result.
func TestSettledCalls(t *testing.T) {
	work := New("work", "", func(context.Context, input) (string, error) { return "", errors.New("it ran") })
	work.MaxOutput = 8
	for value, want := range map[string]string{
		`"by hand"`: "by hand", `{"n":1}`: `{"n":1}`, `[1]`: `[1]`, `null`: "null", `""`: "", ``: "",
		`"a text too long"`: "a text t\n[... 7 bytes cut ...]",
	} {
		j := &journal{known: map[string]effect.Outcome{"work:c0 tool work": {Value: json.RawMessage(value), Settled: true}}}
		chunks, err := chunksOf((&Dispatch{Tools: Set{work}}).Run(effect.WithJournal(t.Context(), j), session.Session{}, calling("work")))
		if got := texts(chunks)[0]; err != nil || got != "ok "+want || chunks[0].Answer().CallID != "c0" {
			t.Errorf("%s became %q, %v", value, got, err)
		}
	}
}

// An approver that has put its question lets the next be put; else they come one by one.
func TestAskedLetsTheNextQuestionBePut(t *testing.T) {
	Asked(t.Context()) // nobody is asked: nothing happens
	work := New("work", "", func(context.Context, input) (string, error) { return "ran", nil })
	for _, puts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			begin, asked := time.Now(), map[string]time.Duration{}
			ctx := WithApprover(t.Context(), func(ctx context.Context, _ *Tool, call session.Call) (Decision, error) {
				asked[call.ID] = time.Since(begin)
				if puts {
					Asked(ctx)
					Asked(ctx) // again is nothing more
				}
				time.Sleep(time.Second)
				return Decision{Allow: call.ID != "c1", Reason: "no"}, nil
			})
			chunks, err := chunksOf((&Dispatch{Tools: Set{work}}).Run(ctx, session.Session{}, calling("work", "work", "work")))
			want := map[string]time.Duration{"c0": 0, "c1": time.Second, "c2": 2 * time.Second}
			if puts {
				want = map[string]time.Duration{"c0": 0, "c1": 0, "c2": 0}
			}
			if diff := cmp.Diff(want, asked); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
			denied := `denied {"ok":false,"error_kind":"tool_denied","message":"work was not allowed to run","detail":"no"}`
			if diff := cmp.Diff([]string{"ok ran", denied, "ok ran"}, texts(chunks)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// After an approver's error nothing more is asked, and nothing runs.
func TestApproversErrorStops(t *testing.T) {
	work := New("work", "", func(context.Context, input) (string, error) {
		t.Error("a call ran")
		return "", nil
	})
	broken := errors.New("the line is dead")
	for _, puts := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var asked []string
			ctx := WithApprover(t.Context(), func(ctx context.Context, _ *Tool, call session.Call) (Decision, error) {
				asked = append(asked, call.ID)
				if call.ID == "c1" {
					return Decision{}, broken
				}
				if puts {
					Asked(ctx)
				}
				time.Sleep(time.Second)
				return Decision{Allow: true}, nil
			})
			chunks, err := chunksOf((&Dispatch{Tools: Set{work}}).Run(ctx, session.Session{}, calling("work", "work", "work", "work")))
			if diff := cmp.Diff([]string{"c0", "c1"}, asked); diff != "" || !errors.Is(err, broken) {
				t.Errorf("%v\n%s", err, diff)
			}
			for _, c := range chunks {
				if c.Answer().Outcome != session.Interrupted {
					t.Errorf("%s", c.Text())
				}
			}
		})
	}
}

// A decision on record stands, whoever could decide now.
func TestRecordedApprovalsStand(t *testing.T) {
	work := New("work", "", func(_ context.Context, in input) (string, error) { return in.Text, nil })
	d := Dispatch{Tools: Set{work}}
	decisions := map[string]Decision{
		"c0": {Reason: "no"}, "c1": {Allow: true, Arguments: `{"text":"edited"}`}, "c2": {Allow: true},
	}
	j := &journal{}
	ctx := WithApprover(effect.WithJournal(t.Context(), j), func(_ context.Context, _ *Tool, call session.Call) (Decision, error) {
		return decisions[call.ID], nil
	})
	calls := calling("work", "work", "work")
	first, err := chunksOf(d.Run(ctx, session.Session{}, calls))
	if err != nil || texts(first)[1] != "ok edited" {
		t.Fatal(texts(first), err)
	}
	for id := range decisions { // what was decided is known, what came of it is not
		delete(j.gave, "work:"+id+" tool work")
	}
	never := func(_ context.Context, _ *Tool, call session.Call) (Decision, error) {
		t.Errorf("%s was asked about again", call.ID)
		return Decision{}, nil
	}
	for name, with := range map[string]func(context.Context) context.Context{
		"nobody":      func(ctx context.Context) context.Context { return ctx },
		"an approver": func(ctx context.Context) context.Context { return WithApprover(ctx, never) },
		"an asker":    func(ctx context.Context) context.Context { return WithAsker(ctx, never) },
	} {
		again, err := chunksOf(d.Run(with(effect.WithJournal(t.Context(), &journal{known: j.gave})), session.Session{}, calls))
		if diff := cmp.Diff(texts(first), texts(again)); diff != "" || err != nil {
			t.Errorf("with %s there: %v\n%s", name, err, diff)
		}
	}
}

// An asker decides about the tools that want it, and only where no approver is there.
func TestAsker(t *testing.T) {
	free := New("free", "", func(context.Context, input) (string, error) { return "ran", nil })
	guarded := New("guarded", "", func(context.Context, input) (string, error) { return "ran", nil })
	guarded.Approval = true
	look := readOnly("look", func(context.Context, input) (any, error) { return "ran", nil })
	look.Approval = true
	var asked []string
	note := func(who string) Approver {
		return func(_ context.Context, t *Tool, _ session.Call) (Decision, error) {
			asked = append(asked, who+" "+t.Name)
			return Decision{Allow: true}, nil
		}
	}
	for _, test := range []struct {
		approver bool
		want     []string
	}{
		{false, []string{"asker guarded", "asker look"}},
		{true, []string{"approver free", "approver guarded", "approver look"}},
	} {
		asked = nil
		ctx := WithAsker(t.Context(), note("asker"))
		if test.approver {
			ctx = WithApprover(ctx, note("approver"))
		}
		chunks, err := chunksOf((&Dispatch{Tools: Set{free, guarded, look}}).Run(ctx, session.Session{}, calling("free", "guarded", "look")))
		if diff := cmp.Diff([]string{"ok ran", "ok ran", "ok ran"}, texts(chunks)); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		if diff := cmp.Diff(test.want, asked); diff != "" {
			t.Error(diff)
		}
	}
}

package effect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/openrath-go/rath/effect"
)

// log is a small journal: it records, or answers from what it recorded.
type log struct {
	mu      sync.Mutex
	replay  bool
	records map[string]effect.Outcome
	order   []string
	seen    map[string]int
	refuse  error
}

func (l *log) Begin(_ context.Context, path string, call effect.Call) (effect.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refuse != nil {
		return nil, l.refuse
	}
	input, err := json.Marshal(call.Input)
	if err != nil {
		return nil, err
	}
	key := fmt.Sprintf("%s|%s|%s|%s", path, call.Kind, call.Name, input)
	l.seen[key]++
	key = fmt.Sprintf("%s#%d", key, l.seen[key])
	l.order = append(l.order, key)
	return &entry{l, key}, nil
}

func (l *log) Knows(path string, call effect.Call) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	input, _ := json.Marshal(call.Input)
	key := fmt.Sprintf("%s|%s|%s|%s", path, call.Kind, call.Name, input)
	_, ok := l.records[fmt.Sprintf("%s#%d", key, l.seen[key]+1)]
	return ok && l.replay
}

type entry struct {
	log *log
	key string
}

func (e *entry) Recorded() (effect.Outcome, bool) {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	out, ok := e.log.records[e.key]
	return out, ok && e.log.replay
}

func (e *entry) Context(ctx context.Context) context.Context { return ctx }

func (e *entry) End(_ context.Context, out effect.Outcome) error {
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	e.log.records[e.key] = out
	return nil
}

func newLog() *log { return &log{records: map[string]effect.Outcome{}, seen: map[string]int{}} }

func TestRecordAndReplay(t *testing.T) {
	calls := 0
	program := func(ctx context.Context) (out []string) {
		for _, name := range []string{"a", "a", "b"} {
			v, err := effect.Do(effect.Scope(ctx, "x/y"), effect.Call{Kind: "tool", Name: name}, func(context.Context) (string, error) {
				calls++
				if name == "b" {
					return "half", errors.New("broken")
				}
				return fmt.Sprint(name, calls), nil
			})
			out = append(out, fmt.Sprintf("%v %v", v, err))
		}
		n, _ := effect.Uint64(ctx)
		now, _ := effect.Now(ctx)
		return append(out, fmt.Sprint(n), now.UTC().String())
	}
	l := newLog()
	first := program(effect.WithJournal(t.Context(), l))
	if calls != 3 || !slices.Equal(first[:3], []string{"a1 <nil>", "a2 <nil>", "half broken"}) {
		t.Fatalf("%d calls, %q", calls, first)
	}
	if want := `x%2Fy|tool|a|null#2`; l.order[1] != want {
		t.Errorf("the second effect is %q, want %q", l.order[1], want)
	}
	l.replay, l.seen = true, map[string]int{}
	second := program(effect.WithJournal(t.Context(), l))
	if calls != 3 {
		t.Errorf("the replay called %d times", calls-3)
	}
	for i := range first[:4] {
		if first[i] != second[i] {
			t.Errorf("recorded %q, replayed %q", first[i], second[i])
		}
	}
}

func TestJournalStopsTheCall(t *testing.T) {
	l := newLog()
	l.refuse = errors.New("needs review")
	_, err := effect.Do(effect.WithJournal(t.Context(), l), effect.Call{}, func(context.Context) (int, error) {
		t.Error("the call ran")
		return 0, nil
	})
	if !errors.Is(err, l.refuse) {
		t.Error(err)
	}
}

func TestPanicIsRecorded(t *testing.T) {
	l := newLog()
	func() {
		defer func() { _ = recover() }()
		effect.Do(effect.WithJournal(t.Context(), l), effect.Call{Kind: "k"}, func(context.Context) (int, error) { panic("x") })
	}()
	if out := l.records["|k||null#1"]; out.Error != effect.ErrPanicked.Error() {
		t.Errorf("%+v", out)
	}
}

func TestScopes(t *testing.T) {
	ctx := effect.Scope(effect.Scope(t.Context(), "a"), "b")
	if got := effect.Path(ctx); got != "a/b" {
		t.Error(got)
	}
	if effect.Scope(ctx, "") != ctx || effect.Path(t.Context()) != "" {
		t.Error("an empty scope is one")
	}
	for _, want := range []string{"a/b/go1", "a/b/go2"} {
		if got := effect.Path(effect.Numbered(ctx, "go")); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if effect.Journaled(ctx) || !effect.Journaled(effect.Scope(effect.WithJournal(ctx, newLog()), "c")) {
		t.Error("Journaled is wrong")
	}
}

func TestClassText(t *testing.T) {
	for _, c := range []effect.Class{effect.Mutating, effect.Idempotent, effect.ReadOnly} {
		var back effect.Class
		text, _ := c.MarshalText()
		if err := back.UnmarshalText(text); err != nil || back != c {
			t.Error(c, back, err)
		}
	}
	var c effect.Class
	if c.UnmarshalText([]byte("x")) == nil {
		t.Error("an unknown class was taken")
	}
}

func TestPassThroughAllocatesNothing(t *testing.T) {
	ctx, n := effect.Scope(t.Context(), "a"), 0
	if allocs := testing.AllocsPerRun(100, func() { passThrough(ctx, &n) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func passThrough(ctx context.Context, n *int) {
	_, _ = effect.Do(ctx, effect.Call{Kind: "k", Name: "n", Input: n}, func(context.Context) (int, error) {
		*n++
		return *n, nil
	})
}

func BenchmarkPassThrough(b *testing.B) {
	ctx, n := effect.Scope(b.Context(), "a"), 0
	b.ReportAllocs()
	for b.Loop() {
		passThrough(ctx, &n)
	}
}

func ExampleDo() {
	size, err := effect.Do(context.Background(), effect.Call{Kind: "disk", Name: "size", Class: effect.ReadOnly},
		func(context.Context) (int, error) { return 42, nil })
	fmt.Println(size, err)
	// Output: 42 <nil>
}

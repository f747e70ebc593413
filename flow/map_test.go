package flow_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// numbers are so many sessions, whose texts are their numbers.
func numbers(n int) iter.Seq[session.Session] {
	return func(yield func(session.Session) bool) {
		for i := range n {
			if !yield(session.FromUser(strconv.Itoa(i))) {
				return
			}
		}
	}
}

// answering is an agent that answers a number with its double, if before lets it.
func answering(before func(ctx context.Context, n int) error) flow.Workflow {
	model := scripted.Func(func(req *llm.Request) scripted.Reply {
		n, _ := strconv.Atoi(req.Messages.Last().Text())
		return scripted.Reply{Text: strconv.Itoa(2 * n)}
	})
	agent := &flow.Agent{Name: "double", Model: model}
	return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		n, _ := strconv.Atoi(s.Text())
		if err := before(ctx, n); err != nil {
			return s, err
		}
		return agent.Forward(ctx, s)
	})
}

var errThird = errors.New("no multiple of three")

func TestMap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, parallel = 100, 7
		var at, most atomic.Int64
		var last flow.Progress
		m := &flow.Map{Parallel: parallel, Progress: func(p flow.Progress) { last = p }}
		m.Workflow = answering(func(_ context.Context, n int) error {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			time.Sleep(time.Duration(n*7919%13) * time.Millisecond) // they end in another order
			if n%3 == 0 {
				return fmt.Errorf("%d: %w", n, errThird)
			}
			return nil
		})
		i := 0
		for out, err := range m.Run(t.Context(), numbers(n)) {
			if failed := i%3 == 0; failed != errors.Is(err, errThird) || failed && out.Text() != strconv.Itoa(i) {
				t.Errorf("%d: %q, %v", i, out.Text(), err)
			}
			var where *flow.Error
			if errors.As(err, &where) && where.Path != strconv.Itoa(i) {
				t.Errorf("%d failed at %q", i, where.Path)
			}
			if err == nil && (out.Text() != strconv.Itoa(2*i) || out.Lineage().Path != fmt.Sprintf("%d/double", i)) {
				t.Errorf("%d: %q by %s", i, out.Text(), out.Lineage().Path)
			}
			i++
		}
		if i != n || most.Load() != parallel {
			t.Errorf("%d results, %d at once", i, most.Load())
		}
		if want := (flow.Progress{Begun: n, Ended: n, Failed: (n + 2) / 3}); last != want {
			t.Errorf("progress %+v, want %+v", last, want)
		}
	})
}

func TestMapOfNothing(t *testing.T) {
	for range (&flow.Map{Workflow: flow.Done}).Run(t.Context(), numbers(0)) {
		t.Error("a result of nothing")
	}
	for _, err := range (&flow.Map{}).Run(t.Context(), numbers(1)) {
		if err == nil {
			t.Error("no workflow did something")
		}
	}
}

// A slow consumer, and a slow first session: neither lets the others go on for ever.
func TestMapIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const parallel = 3
		release := make(chan struct{})
		var begun atomic.Int64
		m := &flow.Map{Parallel: parallel, Workflow: flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
			if begun.Add(1); s.Text() == "0" {
				<-release
			}
			return s, nil
		})}
		go func() {
			synctest.Wait()
			if n := begun.Load(); n > 5*parallel {
				t.Errorf("%d sessions have begun while the first was slow", n)
			}
			close(release)
		}()
		read := int64(0)
		for range m.Run(t.Context(), numbers(100)) {
			read++
			synctest.Wait()
			if n := begun.Load(); n > read+5*parallel {
				t.Fatalf("%d sessions have begun when %d were read", n, read)
			}
		}
		if read != 100 || begun.Load() != 100 {
			t.Errorf("%d of %d results", read, begun.Load())
		}
	})
}

func TestMapIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at atomic.Int64
		m := &flow.Map{Parallel: 4, Workflow: answering(func(ctx context.Context, n int) error {
			at.Add(1)
			defer at.Add(-1)
			if n < 2 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})}
		n := 0
		for range m.Run(t.Context(), numbers(50)) {
			if n++; n == 2 {
				break
			}
		}
		if at.Load() != 0 {
			t.Errorf("%d sessions are worked on by nobody", at.Load())
		}
	})
}

func TestMapIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := &flow.Map{Parallel: 4, Workflow: answering(func(ctx context.Context, n int) error {
			if n == 9 {
				cancel()
			}
			if n >= 6 {
				<-ctx.Done()
			}
			return ctx.Err()
		})}
		var done, cancelled int
		for _, err := range m.Run(ctx, numbers(50)) {
			switch {
			case err == nil:
				done++
			case errors.Is(err, context.Canceled):
				cancelled++
			default:
				t.Error(err)
			}
		}
		if done != 6 || cancelled != 4 {
			t.Errorf("%d done, %d cancelled", done, cancelled)
		}
	})
}

// The results of a stream are not kept, however many there are.
func TestMapForgets(t *testing.T) {
	const n, size = 2_000, 64 << 10
	text := make([]byte, size)
	m := &flow.Map{Parallel: 4, Workflow: flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
		return s.Append(session.User(session.Text(string(text) + s.Text()))), nil
	})}
	most, i := uint64(0), 0
	for out, err := range m.Run(t.Context(), numbers(n)) {
		if err != nil || out.Len() != 2 {
			t.Fatal(err)
		}
		if i++; i%200 == 0 {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
	}
	if most > n*size/4 {
		t.Errorf("%d MB are in use for a stream of %d", most>>20, n*size>>20)
	}
}

func TestMapForksWorkspaces(t *testing.T) {
	for _, share := range []bool{false, true} {
		t.Run(fmt.Sprint("share ", share), func(t *testing.T) { testMapForks(t, share) })
	}
}

func testMapForks(t *testing.T, share bool) {
	sb := forkable(t, map[string]string{"kept": "kept"})
	m := &flow.Map{Parallel: 2, Share: share, Workflow: flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		if err := s.Sandbox().WriteFile(ctx, "file"+s.Text(), []byte(s.Text())); err != nil {
			return s, err
		}
		if s.Text() == "2" {
			return s, errThird
		}
		return s, nil
	})}
	placed := func(yield func(session.Session) bool) {
		for s := range numbers(3) {
			if !yield(s.To(sb)) {
				return
			}
		}
	}
	i := 0
	for out, err := range m.Run(t.Context(), placed) {
		if (i == 2) != errors.Is(err, errThird) || i < 2 && err != nil {
			t.Fatal(err)
		}
		if out.Sandbox() != sb {
			t.Errorf("%d is placed on %v", i, out.Sandbox())
		}
		if !share {
			leftIn(t, out, map[string]string{"kept": "kept", fmt.Sprint("file", i): fmt.Sprint(i)})
		}
		i++
	}
	want := map[string]string{"kept": "kept"}
	if share {
		want = map[string]string{"kept": "kept", "file0": "0", "file1": "1", "file2": "2"}
	}
	if diff := cmp.Diff(want, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
}

// leftIn checks the files that a session's end is marked with.
func leftIn(t *testing.T, s session.Session, want map[string]string) {
	t.Helper()
	id, ok := s.Snapshot()
	if !ok {
		t.Fatal("the session does not say what its files are")
	}
	fork, err := s.Sandbox().Fork(id)
	if err != nil {
		t.Fatal(err)
	}
	defer fork.Close()
	if diff := cmp.Diff(want, filesIn(t, fork)); diff != "" {
		t.Error(diff)
	}
}

// Effects belong to their session's scope, whatever the order in which they happen.
func TestMapScopes(t *testing.T) {
	m := &flow.Map{Parallel: 8, Workflow: flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		if got := effect.Path(ctx); got != "all/"+s.Text() {
			return s, fmt.Errorf("the scope is %q", got)
		}
		return s, nil
	})}
	for _, err := range m.Run(effect.Scope(t.Context(), "all"), numbers(20)) {
		if err != nil {
			t.Error(err)
		}
	}
}

func ExampleMap() {
	model := scripted.Func(func(req *llm.Request) scripted.Reply {
		if text := req.Messages.Last().Text(); text != "" {
			return scripted.Reply{Text: "I have read " + text}
		}
		return scripted.Reply{Error: &llm.Error{Kind: llm.ErrBadRequest, Message: "the message is empty"}}
	})
	m := &flow.Map{Workflow: &flow.Agent{Model: model}, Parallel: 2}
	questions := func(yield func(session.Session) bool) {
		for _, text := range []string{"one", "", "three"} {
			if !yield(session.FromUser(text)) {
				return
			}
		}
	}
	for s, err := range m.Run(context.Background(), questions) {
		if err != nil {
			fmt.Println("failed:", err)
			continue
		}
		fmt.Println(s.Text())
	}
	// Output:
	// I have read one
	// failed: 1/agent: call model scripted:: bad request: the message is empty
	// I have read three
}

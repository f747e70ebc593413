package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // panics of tools are logged
	goleak.VerifyTestMain(m)
}

type input struct {
	Text string   `json:"text" jsonschema:"a text"`
	N    *int     `json:"n,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

func readOnly(name string, fn func(context.Context, input) (any, error)) *Tool {
	t := New(name, "", fn)
	t.Class = effect.ReadOnly
	return t
}

func run(t testing.TB, tools Set, calls ...session.Call) ([]session.Chunk, error) {
	t.Helper()
	for i := range calls {
		calls[i].ID = fmt.Sprint("c", i)
	}
	d := Dispatch{Tools: tools}
	chunks, err := chunksOf(d.Run(t.Context(), session.Session{}, calls))
	if len(chunks) != len(calls) {
		t.Fatalf("%d results for %d calls", len(chunks), len(calls))
	}
	for i, c := range chunks {
		if c.Answer().CallID != calls[i].ID || c.Answer().Tool != calls[i].Name {
			t.Errorf("result %d answers %+v", i, c.Answer())
		}
	}
	return chunks, err
}

func call(name, args string) session.Call { return session.Call{Name: name, Arguments: args} }

func TestSchema(t *testing.T) {
	echo := readOnly("echo", func(_ context.Context, in input) (any, error) { return in, nil })
	want := `{"type":"object","properties":{"text":{"type":"string","description":"a text"},"n":{"type":["null","integer"]},"tags":{"type":["null","array"],"items":{"type":"string"}}},"required":["text"],"additionalProperties":false}`
	var a, b any
	if json.Unmarshal([]byte(want), &a) != nil || json.Unmarshal(echo.Schema, &b) != nil {
		t.Fatal("no JSON")
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Error(diff)
	}
	defer func() {
		if recover() == nil {
			t.Error("a function without a schema made a tool")
		}
	}()
	New("bad", "", func(context.Context, chan int) (int, error) { return 0, nil })
}

func TestResults(t *testing.T) {
	value := func(v any, err error) *Tool {
		return readOnly("f", func(context.Context, input) (any, error) { return v, err })
	}
	big := value(strings.Repeat("ü", 100), nil)
	big.MaxOutput = 11
	for _, test := range []struct {
		name    string
		tool    *Tool
		args    string
		outcome session.Outcome
		want    string
	}{
		{"string", value("a<b", nil), `{"text":""}`, session.OK, "a<b"},
		{"struct", value(map[string]any{"a": "<"}, nil), `{"text":""}`, session.OK, `{"a":"<"}`},
		{"nothing", value(nil, nil), `{"text":""}`, session.OK, "null"},
		{"part", value(session.Text("p"), nil), `{"text":""}`, session.OK, "p"},
		{"failed result", value(Result{Parts: []session.Part{session.Text("x")}, Failed: true}, nil), `{"text":""}`, session.Failed, "x"},
		{"cut", big, `{"text":""}`, session.OK, "üüüüü\n[... 190 bytes cut ...]"},
		{"cannot be JSON", value(func() {}, nil), `{"text":""}`, session.Failed, `{"ok":false,"error_kind":"tool_execution_exception","message":"f failed","detail":"encode the result of f: json: unsupported type: func()"}`},
		{"error", value(nil, errors.New("no \"luck\"")), `{"text":""}`, session.Failed, `{"ok":false,"error_kind":"tool_execution_exception","message":"f failed","detail":"no \"luck\""}`},
		{"own failure", value(nil, fmt.Errorf("x: %w", &Failure{Kind: "k", Message: "m"})), `{"text":""}`, session.Failed, `{"ok":false,"error_kind":"k","message":"m"}`},
		{"panic", readOnly("f", func(context.Context, input) (any, error) { panic("ouch") }), `{"text":""}`, session.Failed, `{"ok":false,"error_kind":"tool_execution_exception","message":"f failed","detail":"the tool panicked: ouch"}`},
		{"no JSON", value("x", nil), `{"text":`, session.Failed, `{"ok":false,"error_kind":"invalid_tool_arguments","message":"the arguments of f do not fit its schema","detail":"the arguments are not a JSON object: unexpected end of JSON input"}`},
		{"missing", value("x", nil), ``, session.Failed, `{"ok":false,"error_kind":"invalid_tool_arguments","message":"the arguments of f do not fit its schema","detail":"validating root: required: missing properties: [\"text\"]"}`},
		{"null", value("x", nil), `null`, session.Failed, ""},
		{"list", value("x", nil), `[]`, session.Failed, ""},
		{"wrong type", value("x", nil), `{"text":1}`, session.Failed, ""},
		{"unknown member", value("x", nil), `{"text":"","x":1}`, session.Failed, ""},
	} {
		chunks, err := run(t, Set{test.tool}, call("f", test.args))
		if err != nil || chunks[0].Answer().Outcome != test.outcome || test.want != "" && chunks[0].Text() != test.want {
			t.Errorf("%s: %s %q, %v", test.name, chunks[0].Answer().Outcome, chunks[0].Text(), err)
		}
	}
	chunks, err := run(t, Set{big}, call("nope", "{}"))
	if err != nil || chunks[0].Text() != `{"ok":false,"error_kind":"unknown_tool","message":"there is no tool \"nope\"","detail":"the tools are: f"}` {
		t.Errorf("%q, %v", chunks[0].Text(), err)
	}
}

func TestFatalStops(t *testing.T) {
	cause := errors.New("gone")
	fatal := readOnly("f", func(context.Context, input) (any, error) { return nil, fmt.Errorf("%w: %w", ErrFatal, cause) })
	chunks, err := run(t, Set{fatal}, call("f", `{"text":""}`), call("f", `{"text":""}`))
	if !errors.Is(err, ErrFatal) || !errors.Is(err, cause) || chunks[0].Answer().Outcome != session.Failed {
		t.Errorf("%v, %v", chunks[0].Text(), err)
	}
}

func TestTimeoutAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := readOnly("f", func(ctx context.Context, _ input) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		slow.Timeout = time.Minute
		chunks, err := run(t, Set{slow}, call("f", `{"text":""}`))
		if err != nil || !strings.Contains(chunks[0].Text(), `"error_kind":"tool_timeout"`) || !strings.Contains(chunks[0].Text(), "1m0s") {
			t.Errorf("%s, %v", chunks[0].Text(), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		chunks, err = chunksOf((&Dispatch{Tools: Set{slow}}).Run(ctx, session.Session{}, []session.Call{{ID: "c", Name: "f", Arguments: `{"text":""}`}}))
		if !errors.Is(err, context.Canceled) || chunks[0].Answer().Outcome != session.Interrupted {
			t.Errorf("%s, %v", chunks[0].Text(), err)
		}
	})
}

func TestApproval(t *testing.T) {
	ran := ""
	change := New("change", "", func(_ context.Context, in input) (string, error) { ran = in.Text; return "ok", nil })
	guarded := readOnly("guarded", func(context.Context, input) (any, error) { return "ok", nil })
	guarded.Approval = true
	d := Dispatch{Tools: Set{change, guarded}}
	ask := func(a Approver, name string) (session.Chunk, error) {
		ran = ""
		ctx := t.Context()
		if a != nil {
			ctx = WithApprover(ctx, a)
		}
		chunks, err := chunksOf(d.Run(ctx, session.Session{}, []session.Call{{ID: "c", Name: name, Arguments: `{"text":"a"}`}}))
		return chunks[0], err
	}
	if c, err := ask(nil, "change"); err != nil || ran != "a" {
		t.Error("without an approver a tool that needs none must run", c.Text(), err)
	}
	if c, err := ask(nil, "guarded"); err != nil || c.Answer().Outcome != session.Denied {
		t.Error(c.Text(), err)
	}
	if c, err := ask(AllowAll, "guarded"); err != nil || c.Answer().Outcome != session.OK {
		t.Error(c.Text(), err)
	}
	decide := func(d Decision, err error) Approver {
		return func(context.Context, *Tool, session.Call) (Decision, error) { return d, err }
	}
	if c, _ := ask(decide(Decision{Reason: "too risky"}, nil), "change"); ran != "" || c.Text() != `{"ok":false,"error_kind":"tool_denied","message":"change was not allowed to run","detail":"too risky"}` {
		t.Error(c.Text())
	}
	if _, err := ask(decide(Decision{Allow: true, Arguments: `{"text":"edited"}`}, nil), "change"); err != nil || ran != "edited" {
		t.Error(ran, err)
	}
	if c, _ := ask(decide(Decision{Allow: true, Arguments: `{}`}, nil), "change"); ran != "" || !strings.Contains(c.Text(), KindInvalidArguments) {
		t.Error(c.Text())
	}
	if c, err := ask(decide(Decision{}, context.Canceled), "change"); !errors.Is(err, context.Canceled) || c.Answer().Outcome != session.Interrupted {
		t.Error(c.Text(), err)
	}
}

// timeline runs calls that sleep a second each and returns when each began and ended.
func timeline(t *testing.T, locks map[string][]Lock, names ...string) map[string]time.Duration {
	begin, at := time.Now(), map[string]time.Duration{}
	var mu sync.Mutex
	var tools Set
	var calls []session.Call
	for _, name := range names {
		x := readOnly(name, func(context.Context, input) (any, error) {
			mu.Lock()
			at[name] = time.Since(begin)
			mu.Unlock()
			time.Sleep(time.Second)
			return name, nil
		})
		if l, ok := locks[name]; ok {
			x.Locks = func(context.Context, json.RawMessage) ([]Lock, error) { return l, nil }
		}
		tools, calls = append(tools, x), append(calls, call(name, `{"text":""}`))
	}
	chunks, err := run(t, tools, calls...)
	for i, c := range chunks {
		if err != nil || c.Text() != names[i] {
			t.Errorf("result %d is %q, %v", i, c.Text(), err)
		}
	}
	return at
}

func TestLocksOrderCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := timeline(t, map[string][]Lock{
			"write a":     {WriteFile("dir/a")},
			"write b":     {WriteFile("dir/b")},
			"read a":      {ReadFile("dir/a")},
			"read dir":    {ReadFile("dir")},
			"write other": {WriteFile("dir2")},
			"everything":  {Everything()},
			"after":       {ReadFile("dir/a")},
			"also after":  {ReadFile("dir/b")},
			"none":        {},
		}, "write a", "write b", "read a", "read dir", "write other", "everything", "after", "also after", "none", "free")
		s := time.Second
		want := map[string]time.Duration{
			"write a": 0, "write b": 0, "write other": 0, "free": 0, "read a": s, "read dir": s,
			"everything": 2 * s, "after": 3 * s, "also after": 3 * s, "none": 3 * s,
		}
		if diff := cmp.Diff(want, at); diff != "" {
			t.Error(diff)
		}
	})
}

// A file is locked under the name that it has when the call runs: what an earlier call
// did to a link counts.
func TestLocksFollowLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, at, link := time.Now(), map[string]time.Duration{}, "old"
		var mu sync.Mutex
		work := func(name string, locks func() []Lock, done func()) *Tool {
			x := New(name, "", func(context.Context, input) (string, error) {
				mu.Lock()
				at[name] = time.Since(begin)
				mu.Unlock()
				time.Sleep(time.Second)
				done()
				return "", nil
			})
			x.Locks = func(context.Context, json.RawMessage) ([]Lock, error) { return locks(), nil }
			return x
		}
		nothing := func() {}
		_, err := run(t, Set{
			work("shell", func() []Lock { return []Lock{Everything()} }, func() { link = "new" }),
			work("link", func() []Lock { return []Lock{WriteFile(link)} }, nothing),
			work("new", func() []Lock { return []Lock{WriteFile("new")} }, nothing),
			work("old", func() []Lock { return []Lock{WriteFile("old")} }, nothing),
		}, call("shell", `{"text":""}`), call("link", `{"text":""}`), call("new", `{"text":""}`), call("old", `{"text":""}`))
		want := map[string]time.Duration{"shell": 0, "link": time.Second, "new": 2 * time.Second, "old": time.Second}
		if diff := cmp.Diff(want, at); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
}

func TestUnmarkedMutatingToolRunsAlone(t *testing.T) {
	var running, most atomic.Int32
	work := New("work", "", func(context.Context, input) (string, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		time.Sleep(time.Millisecond)
		return "", nil
	})
	var calls []session.Call
	for range 8 {
		calls = append(calls, call("work", `{"text":""}`))
	}
	if _, err := run(t, Set{work}, calls...); err != nil || most.Load() != 1 {
		t.Errorf("%d ran at once, %v", most.Load(), err)
	}
}

// Agents respect each other's locks if they work in one workspace, or in one that is
// inside the other.
func TestLocksAreSharedByWorkspace(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"sub", "other"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	all := func(context.Context, json.RawMessage) ([]Lock, error) { return []Lock{Everything()}, nil }
	file := func(name string) func(context.Context, json.RawMessage) ([]Lock, error) {
		return func(context.Context, json.RawMessage) ([]Lock, error) { return []Lock{WriteFile(name)}, nil }
	}
	type agent struct {
		dir   string
		locks func(context.Context, json.RawMessage) ([]Lock, error)
	}
	for _, test := range []struct {
		name   string
		agents []agent
		want   int32 // run at once
	}{
		{"one workspace", []agent{{".", all}, {".", all}, {".", all}}, 1},
		{"one inside the other", []agent{{".", all}, {"sub", all}, {"sub", all}}, 1},
		{"a file of the one inside", []agent{{".", all}, {"sub", file("a")}}, 1},
		{"a file beside", []agent{{".", file("a")}, {"sub", file("a")}}, 2},
		{"one file", []agent{{".", file("sub/a")}, {"sub", file("a")}}, 1},
		{"side by side", []agent{{"sub", all}, {"other", all}}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var running, most atomic.Int32
			var wg sync.WaitGroup
			for _, a := range test.agents {
				sb, err := local.Open(t.Context(), filepath.Join(dir, a.dir), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer sb.Close()
				work := New("work", "", func(context.Context, input) (string, error) {
					n := running.Add(1)
					defer running.Add(-1)
					for m := most.Load(); m < n && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(time.Millisecond)
					return "", nil
				})
				work.Locks = a.locks
				d, calls := Dispatch{Tools: Set{work}}, []session.Call{call("work", `{"text":""}`)}
				for range 8 {
					wg.Go(func() {
						if _, err := d.Run(t.Context(), session.FromUser("x").To(sb), calls); err != nil {
							t.Error(err)
						}
					})
				}
			}
			wg.Wait()
			if most.Load() > test.want {
				t.Errorf("%d ran at once", most.Load())
			}
		})
	}
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if len(shared.live) != 0 {
		t.Error("the tickets of calls that have ended are kept")
	}
}

// A tool that calls tools does not wait for itself.
func TestNestedCallsDoNotDeadlock(t *testing.T) {
	sb, err := local.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	inner := New("inner", "", func(context.Context, input) (string, error) { return "deep", nil })
	outer := New("outer", "", func(ctx context.Context, _ input) (string, error) {
		chunks, err := chunksOf((&Dispatch{Tools: Set{inner}}).Run(ctx, SessionOf(ctx), []session.Call{{ID: "i", Name: "inner", Arguments: `{"text":""}`}}))
		return chunks[0].Text(), err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	calls := []session.Call{{ID: "a", Name: "outer", Arguments: `{"text":""}`}, {ID: "b", Name: "outer", Arguments: `{"text":""}`}}
	chunks, err := chunksOf((&Dispatch{Tools: Set{outer}}).Run(ctx, session.FromUser("x").To(sb), calls))
	if err != nil || chunks[0].Text() != "deep" || chunks[1].Text() != "deep" {
		t.Errorf("%v", err)
	}
}

// nest makes a tool whose calls dispatch calls, of one tool each, all at once.
func nest(locks []Lock, inner ...*Tool) *Tool {
	outer := New("outer", "", func(ctx context.Context, _ input) (string, error) {
		var calls []session.Call
		for _, t := range inner {
			calls = append(calls, call(t.Name, `{"text":""}`))
		}
		chunks, err := chunksOf((&Dispatch{Tools: inner}).Run(ctx, SessionOf(ctx), calls))
		var texts []string
		for _, c := range chunks {
			texts = append(texts, c.Text())
		}
		return strings.Join(texts, "\n"), err
	})
	if locks != nil {
		outer.Locks = func(context.Context, json.RawMessage) ([]Lock, error) { return locks, nil }
	}
	return outer
}

// Calls within a call that conflict run one after the other.
func TestNestedCallsExcludeEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var running, most atomic.Int32
		inner := New("inner", "", func(context.Context, input) (string, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			time.Sleep(time.Second)
			return "", nil
		})
		_, err := run(t, Set{nest(nil, inner, inner, inner)}, call("outer", `{"text":""}`))
		if took := time.Since(begin); err != nil || most.Load() != 1 || took != 3*time.Second {
			t.Errorf("%d ran at once, it took %v, %v", most.Load(), took, err)
		}
	})
}

// What cannot be locked without a deadlock is refused.
func TestNestedCallsAreRefused(t *testing.T) {
	sb, err := local.Open(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	inner := New("inner", "", func(context.Context, input) (string, error) { return "ran", nil })
	d := Dispatch{Tools: Set{nest([]Lock{WriteFile("a")}, inner)}}
	chunks, err := chunksOf(d.Run(t.Context(), session.FromUser("x").To(sb), []session.Call{call("outer", `{"text":""}`)}))
	if err != nil || !strings.Contains(chunks[0].Text(), errWidens.Error()) {
		t.Errorf("%s, %v", chunks[0].Text(), err)
	}
}

// A panic in what a user wrote fails the one call.
func TestPanics(t *testing.T) {
	good := New("good", "", func(context.Context, input) (string, error) { return "ran", nil })
	bad := New("bad", "", func(context.Context, input) (string, error) { return "ran", nil })
	bad.Locks = func(context.Context, json.RawMessage) ([]Lock, error) { panic("ouch") }
	calls := []session.Call{call("bad", `{"text":""}`), call("good", `{"text":""}`)}
	chunks, err := run(t, Set{good, bad}, calls...)
	if want := `{"ok":false,"error_kind":"tool_execution_exception","message":"bad failed","detail":"Locks of the tool panicked: ouch"}`; err != nil ||
		chunks[0].Text() != want || chunks[0].Answer().Outcome != session.Failed || chunks[1].Text() != "ran" {
		t.Errorf("%s, %s, %v", chunks[0].Text(), chunks[1].Text(), err)
	}
	ctx := WithApprover(t.Context(), func(_ context.Context, t *Tool, _ session.Call) (Decision, error) {
		if t == bad {
			panic("ouch")
		}
		return Decision{Allow: true}, nil
	})
	chunks, err = chunksOf((&Dispatch{Tools: Set{good, bad}}).Run(ctx, session.Session{}, calls))
	if want := `{"ok":false,"error_kind":"tool_denied","message":"bad was not allowed to run","detail":"the approver panicked: ouch"}`; err != nil ||
		chunks[0].Text() != want || chunks[0].Answer().Outcome != session.Denied || chunks[1].Text() != "ran" {
		t.Errorf("%s, %s, %v", chunks[0].Text(), chunks[1].Text(), err)
	}
}

// A call that waits for its locks when the context ends is never begun, and the error is
// the context's, not its cause: that may be the error of somebody else.
func TestCancelWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		began := 0
		slow := New("slow", "", func(context.Context, input) (string, error) {
			began++
			time.Sleep(time.Second)
			cancel(errors.New("another branch failed"))
			return "done", nil
		})
		calls := []session.Call{call("slow", `{"text":""}`), call("slow", `{"text":""}`), call("slow", `{"text":""}`)}
		chunks, err := chunksOf((&Dispatch{Tools: Set{slow}}).Run(ctx, session.Session{}, calls))
		if err != context.Canceled || began != 1 || chunks[0].Text() != "done" {
			t.Errorf("%d began, %q, %v", began, chunks[0].Text(), err)
		}
		for _, c := range chunks[1:] {
			if c.Answer().Outcome != session.Interrupted {
				t.Errorf("%s", c.Text())
			}
		}
	})
}

// The time of a tool is not that of the calls within it.
func TestTimeoutOfTheOuterCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside session.Outcome
		inner := readOnly("inner", func(ctx context.Context, _ input) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		outer := New("outer", "", func(ctx context.Context, _ input) (string, error) {
			chunks, err := chunksOf((&Dispatch{Tools: Set{inner}}).Run(ctx, SessionOf(ctx), []session.Call{call("inner", `{"text":""}`)}))
			inside = chunks[0].Answer().Outcome
			return "", err
		})
		outer.Timeout = time.Minute
		chunks, err := run(t, Set{outer}, call("outer", `{"text":""}`))
		if err != nil || inside != session.Interrupted || !strings.Contains(chunks[0].Text(), "outer took longer than 1m0s") {
			t.Errorf("inside %s, %s, %v", inside, chunks[0].Text(), err)
		}
	})
}

func TestCheck(t *testing.T) {
	ok := readOnly("ok", func(context.Context, input) (any, error) { return nil, nil })
	for _, s := range []Set{{{Name: "x"}}, {ok, ok}, {{Name: "y", Run: ok.Run, Schema: json.RawMessage("{")}}, {{Run: ok.Run}}} {
		if s.Check() == nil {
			t.Errorf("%v passes", s.Specs())
		}
	}
	if err := (Set{ok}).Check(); err != nil {
		t.Error(err)
	}
}

func TestContextOutsideACall(t *testing.T) {
	if _, err := SandboxOf(t.Context()); !errors.Is(err, ErrNoSandbox) || CallOf(t.Context()) != (session.Call{}) || SessionOf(t.Context()).Len() != 0 {
		t.Error(err)
	}
}

func BenchmarkDispatch(b *testing.B) {
	d := Dispatch{Tools: Set{readOnly("f", func(_ context.Context, in input) (any, error) { return in.Text, nil })}}
	calls := []session.Call{{ID: "c", Name: "f", Arguments: `{"text":"hello"}`}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Run(b.Context(), session.Session{}, calls); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleNew() {
	add := New("add", "Add two numbers.", func(_ context.Context, in struct {
		A int `json:"a"`
		B int `json:"b"`
	}) (int, error) {
		return in.A + in.B, nil
	})
	add.Class = effect.ReadOnly
	d := Dispatch{Tools: Set{add}}
	results, err := d.Run(context.Background(), session.Session{}, []session.Call{{ID: "1", Name: "add", Arguments: `{"a":2,"b":3}`}})
	fmt.Println(results[0].Chunk.Text(), err)
	// Output: 5 <nil>
}

func chunksOf(done []Done, err error) ([]session.Chunk, error) {
	var out []session.Chunk
	for _, d := range done {
		out = append(out, d.Chunk)
	}
	return out, err
}

package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/workspace"
)

// stopping is a model that puts the run down when it is asked for the n-th time.
type stopping struct {
	llm.Model
	asked *atomic.Int64
	n     int64
	stop  context.CancelFunc
}

func (m stopping) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	if m.asked.Add(1) == m.n {
		m.stop()
		return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, ctx.Err()) }
	}
	return m.Model.Stream(ctx, req)
}

type appending struct {
	Name string `json:"name"`
}

// lengthen appends a line to a file: done twice, it shows.
func lengthen(calls *atomic.Int64) *tool.Tool {
	t := tool.New("lengthen", "Append a line.", func(ctx context.Context, in appending) (string, error) {
		calls.Add(1)
		sb, err := tool.SandboxOf(ctx)
		if err != nil {
			return "", err
		}
		_, err = sb.Exec(ctx, sandbox.Command{Args: []string{"sh", "-c", `echo line >>"$1"`, "sh", in.Name}})
		return "done", err
	})
	t.Class = effect.Mutating
	t.Locks = func(_ context.Context, raw json.RawMessage) ([]tool.Lock, error) {
		var in appending
		err := json.Unmarshal(raw, &in)
		return []tool.Lock{tool.WriteFile(in.Name)}, err
	}
	return t
}

// lengthening is an agent that appends a line to its own two files at once, and then again.
func lengthening(name string, model func(llm.Model) llm.Model, calls *atomic.Int64) *flow.Agent {
	m := scripted.Func(func(req *llm.Request) scripted.Reply {
		results := 0
		for _, c := range req.Messages.All() {
			if strings.HasPrefix(c.Answer().CallID, name+"-") {
				results++
			}
		}
		if results == 4 {
			return scripted.Reply{Text: "done"}
		}
		var reply scripted.Reply
		for i := range 2 {
			c := scripted.Call("lengthen", fmt.Sprintf(`{"name":"%s%d"}`, name, i))
			c.ID = fmt.Sprintf("%s-%d-%d", name, results, i)
			reply.Calls = append(reply.Calls, c)
		}
		return reply
	})
	return &flow.Agent{Name: name, Model: model(m), Tools: tool.Set{lengthen(calls)}}
}

// A run with branches is put down at each of its model calls. Whoever takes it up makes of
// the workspace what it would have been, and does nothing twice.
func TestResumeInBranches(t *testing.T) {
	const models = 3 + 3 + 3
	for n := int64(1); n <= models+1; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			st, dir := open(t), t.TempDir()
			shadow := filepath.Join(t.TempDir(), "shadow")
			place := func() *sandbox.Sandbox {
				store, err := workspace.Open(t.Context(), shadow, nil)
				if err != nil {
					t.Skip(err)
				}
				sb, err := local.Open(t.Context(), dir, &local.Options{Workspace: store})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = sb.Close() })
				return sb
			}
			var asked, calls atomic.Int64
			program := func(stop context.CancelFunc) flow.Workflow {
				model := func(m llm.Model) llm.Model { return stopping{m, &asked, n, stop} }
				return flow.Sequence{
					&flow.Parallel{Branches: []flow.Workflow{lengthening("a", model, &calls), lengthening("b", model, &calls)}, Limit: 1},
					lengthening("c", model, &calls),
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := place()
			h, err := run.New(st, nil).Start(ctx, "demo", program(cancel), session.FromUser("x").To(first))
			if err != nil {
				t.Fatal(err)
			}
			out, err := h.Wait()
			if n <= models {
				if err == nil {
					t.Fatal("it was not put down")
				}
				_ = first.Close()
				second := place()
				r := run.New(st, &run.Options{Place: func(_ context.Context, s session.Session) (session.Session, error) { return s.To(second), nil }})
				r.Register("demo", program(cancel))
				h, err := r.Resume(t.Context(), h.ID())
				out = finish(t, h, err)
			} else if err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"a0", "a1", "b0", "b1", "c0", "c1"} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != "line\nline\n" {
					t.Errorf("%s has %q, %v", name, got, err)
				}
			}
			if got := calls.Load(); got != 12 {
				t.Errorf("%d calls of 12", got)
			}
			before := calls.Load()
			again, err := run.New(st, nil).Replay(t.Context(), h.ID(), program(cancel))
			if err != nil || again.Digest() != out.Digest() || calls.Load() != before {
				t.Errorf("the replay: %v", err)
			}
			one, _ := out.Snapshot()
			two, _ := again.Snapshot()
			if diff := cmp.Diff(one, two); diff != "" || one == "" {
				t.Errorf("the replayed session has other files: %s", diff)
			}
		})
	}
}

// Conflicts, and what resolved them, are on record: a replay asks nobody for a file.
func TestReplayOfConflicts(t *testing.T) {
	write := func(text string) flow.Workflow {
		return &flow.Agent{Name: "write", Model: scripted.New(
			scripted.Reply{Calls: []session.Call{scripted.Call("put", fmt.Sprintf(`{"text":%q}`, text))}}, scripted.Reply{Text: "done"},
		), Tools: tool.Set{tool.New("put", "Write it.", func(ctx context.Context, in textInput) (string, error) {
			sb, err := tool.SandboxOf(ctx)
			if err != nil {
				return "", err
			}
			return "written", sb.WriteFile(ctx, "f", []byte(in.Text+"\n"))
		})}}
	}
	for _, resolve := range []bool{false, true} {
		program := func() flow.Workflow {
			p := &flow.Parallel{Branches: []flow.Workflow{write("a"), write("b")}}
			if resolve {
				p.Resolve = write("both")
			}
			return p
		}
		ws, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
		if err != nil {
			t.Skip(err)
		}
		sb, err := local.Open(t.Context(), t.TempDir(), &local.Options{Workspace: ws})
		if err != nil {
			t.Fatal(err)
		}
		defer sb.Close()
		r := run.New(open(t), nil)
		h, err := r.Start(t.Context(), "demo", program(), session.FromUser("x").To(sb))
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Wait()
		if errors.As(err, new(*flow.ConflictError)) == resolve || resolve && err != nil {
			t.Fatalf("resolve %v: %v", resolve, err)
		}
		again, againErr := r.Replay(t.Context(), h.ID(), program())
		if again.Digest() != out.Digest() || fmt.Sprint(againErr) != fmt.Sprint(err) {
			t.Errorf("the replay is another: %v, was %v", againErr, err)
		}
	}
}

// A call that a person says to have happened has changed what it changed.
func TestFilesOfSettledCalls(t *testing.T) {
	ws, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	sb, err := local.Open(t.Context(), t.TempDir(), &local.Options{Workspace: ws})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	half := tool.New("put", "Write, and hang.", func(ctx context.Context, in textInput) (string, error) {
		err := sb.WriteFile(ctx, "f", []byte(in.Text))
		cancel()
		<-ctx.Done()
		return "", errors.Join(err, ctx.Err())
	})
	a := &flow.Agent{Name: "a", Model: steps("put"), Tools: tool.Set{half}}
	st := open(t)
	place := func(_ context.Context, s session.Session) (session.Session, error) { return s.To(sb), nil }
	r := run.New(st, &run.Options{Place: place})
	r.Register("demo", a)
	h, err := r.Start(ctx, "demo", a, session.FromUser("x").To(sb))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); err == nil {
		t.Fatal("it was not put down")
	}
	effects, err := store.Effects(st.Events(t.Context(), h.ID(), 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range effects {
		if x.Class == "mutating" && x.Open() {
			if err := r.Settle(t.Context(), h.ID(), store.Settled{Effect: x.ID, Verdict: store.VerdictResult, Value: json.RawMessage(`"put"`)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	h, err = r.Resume(t.Context(), h.ID())
	out := finish(t, h, err)
	id, ok := out.Snapshot()
	if !ok {
		t.Fatal("nobody knows its files")
	}
	if files, err := ws.List(t.Context(), id); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	again, err := run.New(st, nil).Replay(t.Context(), h.ID(), a)
	if err != nil || again.Digest() != out.Digest() {
		t.Errorf("the replay: %v", err)
	}
}

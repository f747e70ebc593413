package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
	"github.com/openrath-go/rath/workspace"
)

// forkable opens a sandbox on a directory that has the files.
func forkable(t *testing.T, files map[string]string) *sandbox.Sandbox {
	t.Helper()
	store, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sb, err := local.Open(t.Context(), dir, &local.Options{Workspace: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// writer is an agent that writes files, one call each, and then says that it has.
func writer(name string, files ...string) *flow.Agent {
	var replies []scripted.Reply
	for i := 0; i < len(files); i += 2 {
		args, _ := json.Marshal(map[string]string{"path": files[i], "content": files[i+1]})
		replies = append(replies, scripted.Reply{Calls: []session.Call{scripted.Call("write_workspace_file", string(args))}})
	}
	replies = append(replies, scripted.Reply{Text: name + " is done"})
	return &flow.Agent{Name: name, Model: scripted.New(replies...), Tools: tool.Set{builtin.All().Find("write_workspace_file")}}
}

func filesIn(t *testing.T, sb *sandbox.Sandbox) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := sb.Walk(t.Context(), ".", func(e sandbox.Entry, err error) error {
		if err != nil || e.IsDir {
			return err
		}
		data, err := sb.ReadFile(t.Context(), e.Path)
		files[e.Path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"

func TestParallelJoinsWorkspaces(t *testing.T) {
	sb := forkable(t, map[string]string{"shared": lines, "kept": "kept"})
	p := &flow.Parallel{Branches: []flow.Workflow{
		writer("a", "new-a", "a", "shared", "one\n"+lines[2:]),
		writer("b", "new-b", "b", "shared", lines[:16]+"nine\n"),
		flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			if s.Sandbox() == sb || s.Placement().Fork == "" {
				t.Error("a branch works in the session's workspace")
			}
			_, err := s.Sandbox().ReadFile(ctx, "new-a")
			if err == nil {
				t.Error("a branch sees what another has done")
			}
			return s, s.Sandbox().Remove(ctx, "kept")
		}),
	}, Limit: 1}
	out, err := p.Forward(t.Context(), session.FromUser("change it").To(sb))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"new-a": "a", "new-b": "b", "shared": "one\n" + lines[2:16] + "nine\n"}
	if diff := cmp.Diff(want, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
	if out.Sandbox() != sb || out.Len() != 11 {
		t.Errorf("%d chunks on %v", out.Len(), out.Sandbox())
	}
	id, _ := out.Snapshot()
	if now, err := sb.Snapshot(t.Context()); err != nil || now.ID != id {
		t.Errorf("the session says the files are %s: %+v, %v", id, now, err)
	}
	branch := out.Parents()[0]
	marks := branch.Lineage().Marks()
	if len(marks) != 3 || marks[0].Len != 1 || marks[1].Len != 3 || marks[2].Len != 5 {
		t.Errorf("a branch has the marks %v", marks)
	}
	early, err := branch.ForkAt(3)
	if err != nil {
		t.Fatal(err)
	}
	id, _ = early.Snapshot()
	if _, err := sb.Restore(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"new-a": "a", "shared": lines, "kept": "kept"}, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
}

func TestParallelShares(t *testing.T) {
	sb := forkable(t, nil)
	p := &flow.Parallel{Share: true, Branches: []flow.Workflow{writer("a", "a", "a"), writer("b", "b", "b")}}
	if out, err := p.Forward(t.Context(), session.FromUser("x").To(sb)); err != nil || out.Sandbox() != sb {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"a": "a", "b": "b"}, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
	if flow.Fingerprint(p) == flow.Fingerprint(&flow.Parallel{Branches: p.Branches}) {
		t.Error("a program that shares is taken for one that does not")
	}
}

func TestParallelConflict(t *testing.T) {
	sb := forkable(t, map[string]string{"f": lines})
	p := &flow.Parallel{Branches: []flow.Workflow{writer("a", "f", "A\n"+lines[2:], "new-a", "a"), writer("b", "f", "B\n"+lines[2:])}}
	in := session.FromUser("x").To(sb)
	out, err := p.Forward(t.Context(), in)
	var conflict *flow.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].Path != "f" || conflict.Hint() == "" {
		t.Fatal(err)
	}
	if !strings.HasSuffix(err.Error(), "the branches changed the same places differently: f (contents)") {
		t.Error(err)
	}
	if out.Len() != 9 || out.Sandbox() != sb {
		t.Errorf("the conversation has %d chunks", out.Len())
	}
	if diff := cmp.Diff(map[string]string{"f": lines}, filesIn(t, sb)); diff != "" {
		t.Error("the workspace has changed", diff)
	}
	var b strings.Builder
	if err := sb.Workspace().Read(t.Context(), conflict.Conflicts[0].Theirs.Blob, &b); err != nil || b.String() != "B\n"+lines[2:] {
		t.Errorf("%q, %v", b.String(), err)
	}

	p = &flow.Parallel{Branches: []flow.Workflow{writer("a", "f", "A\n"+lines[2:], "new-a", "a"), writer("b", "f", "B\n"+lines[2:])}}
	p.Resolve = flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) { return s, nil })
	if _, err := p.Forward(t.Context(), in); !errors.As(err, &conflict) {
		t.Errorf("a resolver that does nothing: %v", err)
	}

	p.Branches = []flow.Workflow{writer("a", "f", "A\n"+lines[2:], "new-a", "a"), writer("b", "f", "B\n"+lines[2:])}
	p.Resolve = flow.Sequence{
		flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			data, err := s.Sandbox().ReadFile(ctx, "f")
			if text := string(data); !strings.HasPrefix(text, "<<<<<<<") || !strings.Contains(text, "\nA\n") || !strings.Contains(text, "\nB\n") {
				t.Errorf("the resolver finds %q", text)
			}
			if !strings.Contains(s.Text(), "- f (contents)") {
				t.Errorf("the resolver is told %q", s.Text())
			}
			return s, err
		}),
		writer("resolver", "f", "A and B\n"+lines[2:]),
	}
	out, err = p.Forward(t.Context(), in)
	if err != nil || out.Text() != "resolver is done" || out.Sandbox() != sb {
		t.Fatal(out.Text(), err)
	}
	if diff := cmp.Diff(map[string]string{"f": "A and B\n" + lines[2:], "new-a": "a"}, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
	if err := flow.Check(&flow.Parallel{Branches: []flow.Workflow{flow.Done}}); err != nil {
		t.Errorf("without a resolver: %v", err)
	}
}

// The user goes on working while the branches do.
func TestParallelMeetsTheUser(t *testing.T) {
	for text, conflicts := range map[string]bool{"one\n" + lines[2:]: false, lines[:16] + "user\n": true} {
		sb := forkable(t, map[string]string{"f": lines})
		p := &flow.Parallel{Branches: []flow.Workflow{
			writer("a", "f", lines[:16]+"nine\n"),
			flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
				return s, sb.WriteFile(ctx, "f", []byte(text))
			}),
		}}
		_, err := p.Forward(t.Context(), session.FromUser("x").To(sb))
		if errors.As(err, new(*flow.ConflictError)) != conflicts || !conflicts && err != nil {
			t.Errorf("%q: %v", text, err)
		}
		want := text
		if !conflicts {
			want = "one\n" + lines[2:16] + "nine\n"
		}
		if diff := cmp.Diff(map[string]string{"f": want}, filesIn(t, sb)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestParallelFails(t *testing.T) {
	sb := forkable(t, map[string]string{"f": "f"})
	broken := errors.New("broken")
	p := &flow.Parallel{Limit: 1, Branches: []flow.Workflow{
		writer("a", "a", "a"),
		flow.Func(func(_ context.Context, s session.Session) (session.Session, error) { return s, broken }),
	}}
	out, err := p.Forward(t.Context(), session.FromUser("x").To(sb))
	if !errors.Is(err, broken) || out.Sandbox() != sb {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"f": "f"}, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
	if id, ok := out.Parents()[0].Snapshot(); !ok {
		t.Error("what a branch had done is lost")
	} else if list, err := sb.Workspace().List(t.Context(), id); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// Branches within branches, sixteen in all, lose nothing.
func TestNestedParallel(t *testing.T) {
	sb := forkable(t, map[string]string{"f": "f"})
	outer := &flow.Parallel{}
	want := map[string]string{"f": "f"}
	for i := range 4 {
		inner := &flow.Parallel{}
		for j := range 4 {
			name := fmt.Sprintf("%d-%d", i, j)
			want[name] = name
			inner.Branches = append(inner.Branches, writer(name, name, name))
		}
		outer.Branches = append(outer.Branches, inner)
	}
	if _, err := outer.Forward(t.Context(), session.FromUser("x").To(sb)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
	orphans, err := sb.Workspace().GC(t.Context(), nil)
	if err != nil || len(orphans.Orphans) != 0 {
		t.Errorf("%+v, %v", orphans, err)
	}
}

// What branches had done when one failed is kept, though the workspace is as it was.
func TestFilesOfFailedBranches(t *testing.T) {
	sb := forkable(t, map[string]string{"f": "f"})
	broken := errors.New("broken")
	in := session.FromUser("x").To(sb)
	p := &flow.Parallel{Limit: 1, Branches: []flow.Workflow{
		flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			return s, s.Sandbox().WriteFile(ctx, "made", []byte("by no tool"))
		}),
		flow.Func(func(_ context.Context, s session.Session) (session.Session, error) { return s, broken }),
	}}
	if _, err := p.Forward(t.Context(), in); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	kept, err := sb.Workspace().Kept(t.Context(), "sessions/"+in.ID().String())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, id := range kept {
		files, err := sb.Workspace().List(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		_, has := files["made"]
		found = found || has
	}
	if !found {
		t.Errorf("of %d snapshots none has it", len(kept))
	}
}

// A resolver that only touches a file has not resolved its conflict.
func TestResolverLeavesMarkers(t *testing.T) {
	sb := forkable(t, map[string]string{"f": lines})
	p := &flow.Parallel{
		Branches: []flow.Workflow{writer("a", "f", "A\n"+lines[2:]), writer("b", "f", "B\n"+lines[2:])},
		Resolve: flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			data, err := s.Sandbox().ReadFile(ctx, "f")
			if err != nil {
				return s, err
			}
			return s, s.Sandbox().WriteFile(ctx, "f", append(data, "more\n"...))
		}),
	}
	_, err := p.Forward(t.Context(), session.FromUser("x").To(sb))
	var conflict *flow.ConflictError
	if !errors.As(err, &conflict) || !conflict.Unresolved {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(map[string]string{"f": lines}, filesIn(t, sb)); diff != "" {
		t.Error(diff)
	}
}

func TestNoBranches(t *testing.T) {
	in := session.FromUser("x").To(forkable(t, nil))
	b, err := flow.Branch(t.Context(), in, 0)
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.Join(t.Context(), nil)
	if err != nil || out.ID() != in.ID() {
		t.Errorf("%v, %v", out.ID(), err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

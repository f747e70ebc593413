package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/openrath-go/rath/workspace"
)

// clash is a conflict with the contents of its sides.
type clash struct {
	Branch             int
	Path               string
	Kind               workspace.ConflictKind
	Base, Ours, Theirs string
}

const nothing = "nothing"

func clashes(t testing.TB, s *workspace.Store, conflicts []workspace.Conflict) (all []clash) {
	t.Helper()
	read := func(e workspace.Entry) string {
		if e == (workspace.Entry{}) {
			return nothing
		}
		var b strings.Builder
		must(t, s.Read(context.Background(), e.Blob, &b))
		return b.String()
	}
	for _, c := range conflicts {
		all = append(all, clash{c.Branch, c.Path, c.Kind, read(c.Base), read(c.Ours), read(c.Theirs)})
	}
	return all
}

func TestMergeAll(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	base := of("f", "1\n", "g", "g\n", "x", "")
	with := func(pairs ...string) model {
		m := base.clone()
		maps.Copy(m, of(pairs...))
		return m
	}
	without := func(p string) model {
		m := base.clone()
		m.remove(p)
		return m
	}
	for _, test := range []struct {
		name     string
		branches []model
		want     model
		clashes  []clash
	}{
		{"none", nil, base, nil},
		{"unchanged", []model{base, base}, base, nil},
		{"one", []model{with("f", "2\n")}, with("f", "2\n"), nil},
		{"the same twice", []model{with("f", "2\n"), with("f", "2\n")}, with("f", "2\n"), nil},
		{"apart", []model{with("f", "2\n"), with("g", "h\n"), with("new", "new")}, with("f", "2\n", "g", "h\n", "new", "new"), nil},
		{"first stays, each other clashes", []model{with("f", "2\n"), with("f", "3\n", "g", "h\n"), with("f", "4\n")},
			with("f", "2\n", "g", "h\n"), []clash{
				{1, "f", workspace.Contents, "1\n", "2\n", "3\n"},
				{2, "f", workspace.Contents, "1\n", "2\n", "4\n"},
			}},
		{"deleted, then changed twice", []model{without("f"), with("f", "2\n"), with("f", "3\n")}, without("f"), []clash{
			{1, "f", workspace.ModifyDelete, "1\n", nothing, "2\n"},
			{2, "f", workspace.ModifyDelete, "1\n", nothing, "3\n"},
		}},
		{"changed, then deleted", []model{base, with("f", "2\n"), without("f")}, with("f", "2\n"), []clash{
			{2, "f", workspace.ModifyDelete, "1\n", "2\n", nothing},
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			ids := make([]workspace.ID, len(test.branches))
			for i, b := range test.branches {
				ids[i] = b.written(t, s, dir)
			}
			m, err := s.MergeAll(ctx, base.written(t, s, dir), ids, nil)
			must(t, err)
			if d := diffModels(test.want, contents(t, s, m.ID)); d != "" {
				t.Errorf("merged (-want +got):\n%s", d)
			}
			if d := cmp.Diff(test.clashes, clashes(t, s, m.Conflicts)); d != "" {
				t.Errorf("conflicts (-want +got):\n%s", d)
			}
		})
	}
}

func TestMergeAllMarkers(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	base := of("f", "1\n", "g", "1\n").written(t, s, dir)
	m, err := s.MergeAll(ctx, base, []workspace.ID{
		of("f", "2\n", "g", "1\n").written(t, s, dir),
		of("f", "3\n", "g", "1\n").written(t, s, dir),
		of("f", "1\n", "g", "2\n").written(t, s, dir),
	}, &workspace.MergeOptions{Markers: true})
	must(t, err)
	if d := cmp.Diff([]clash{{1, "f", workspace.Contents, "1\n", "2\n", "3\n"}}, clashes(t, s, m.Conflicts)); d != "" {
		t.Errorf("conflicts (-want +got):\n%s", d)
	}
	got := contents(t, s, m.ID)
	if f := got["f"].Content; !strings.Contains(f, "<<<<<<<") || !strings.Contains(f, "2\n=======\n3\n") {
		t.Errorf("with markers:\n%s", f)
	}
	if got["g"].Content != "2\n" {
		t.Errorf("what a branch after the conflict changed is %q", got["g"].Content)
	}
}

func TestMergeAllErrors(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	id, other := of("f", "f").written(t, s, dir), of("f", "g").written(t, s, dir)
	unknown := workspace.ID(strings.Repeat("0a", 32))
	for name, call := range map[string]func() (*workspace.Merged, error){
		"base":                   func() (*workspace.Merged, error) { return s.MergeAll(ctx, unknown, []workspace.ID{id}, nil) },
		"base, without branches": func() (*workspace.Merged, error) { return s.MergeAll(ctx, unknown, nil, nil) },
		"branch 1":               func() (*workspace.Merged, error) { return s.MergeAll(ctx, id, []workspace.ID{other, unknown}, nil) },
	} {
		m, err := call()
		var e *workspace.Error
		if m != nil || !errors.Is(err, workspace.ErrUnknown) || !errors.As(err, &e) || strings.HasPrefix(name, "branch") != strings.Contains(err.Error(), "branch 1") {
			t.Errorf("an unknown %s: %v, %v", name, m, err)
		}
	}
}

// TestParallelBranchesLoseNothing edits sixteen forks at one time and merges them. No two
// contents are alike, so that each path stands for itself: it is what the branches that
// changed it have, or what the first of them has and a conflict with each other one.
func TestParallelBranchesLoseNothing(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(1, seed))
		base := model{}
		for i := range 80 {
			base.put(fmt.Sprintf("d%d/%d", i%9, i), file(unique(r)))
		}
		id := base.written(t, s, dir)
		edited := make([]model, 16)
		ids := make([]workspace.ID, len(edited))
		var g errgroup.Group
		for i := range edited {
			edited[i] = scattered(r, base)
			g.Go(func() (err error) {
				ids[i], err = inFork(t, s, id, edited[i])
				return err
			})
		}
		must(t, g.Wait())
		m, err := s.MergeAll(ctx, id, ids, nil)
		must(t, err)
		want, conflicts := mergedByPath(base, edited)
		if d := diffModels(want, contents(t, s, m.ID)); d != "" {
			t.Errorf("seed %d: merged (-want +got):\n%s", seed, d)
		}
		if d := cmp.Diff(conflicts, clashes(t, s, m.Conflicts)); d != "" {
			t.Errorf("seed %d: conflicts (-want +got):\n%s", seed, d)
		}
		if len(conflicts) == 0 {
			t.Errorf("seed %d: there is no conflict to be found", seed)
		}
	}
}

// unique is a line that nothing else is like.
func unique(r *rand.Rand) string { return fmt.Sprintf("%016x%016x\n", r.Uint64(), r.Uint64()) }

// scattered is a model with some files changed, removed and added, a few of them where
// other branches do the same.
func scattered(r *rand.Rand, base model) model {
	m := base.clone()
	paths := slices.Sorted(maps.Keys(filesOnly(base)))
	for range 4 {
		m.put(paths[r.IntN(len(paths))], file(unique(r)))
		m.put(fmt.Sprintf("new/%d", r.IntN(60)), file(unique(r)))
	}
	m.remove(paths[r.IntN(len(paths))])
	return m
}

// mergedByPath merges as simply as can be.
func mergedByPath(base model, branches []model) (merged model, conflicts []clash) {
	merged = base.clone()
	for i, branch := range branches {
		var here []clash
		for p := range union(filesOnly(base), filesOnly(branch)) {
			was, ours, theirs := base[p], merged[p], branch[p]
			switch {
			case theirs == was:
			case ours == was && theirs == (plainEntry{}):
				merged.remove(p)
			case ours == was:
				merged.put(p, theirs)
			case ours != theirs:
				kind := workspace.Contents
				if ours == (plainEntry{}) || theirs == (plainEntry{}) {
					kind = workspace.ModifyDelete
				}
				here = append(here, clash{i, p, kind, was.text(), ours.text(), theirs.text()})
			}
		}
		slices.SortFunc(here, func(a, b clash) int { return strings.Compare(a.Path, b.Path) })
		conflicts = append(conflicts, here...)
	}
	return merged, conflicts
}

func (e plainEntry) text() string {
	if e == (plainEntry{}) {
		return nothing
	}
	return e.Content
}

func union(a, b model) model {
	m := a.clone()
	maps.Copy(m, b)
	return m
}

// inFork writes a model into a fork and takes a snapshot of it.
func inFork(t testing.TB, s *workspace.Store, id workspace.ID, m model) (workspace.ID, error) {
	f, err := s.Fork(context.Background(), id, nil)
	if err != nil {
		return "", err
	}
	defer f.Close()
	m.write(t, f.Dir)
	snap, err := s.Snapshot(context.Background(), f.Dir)
	if err != nil {
		return "", err
	}
	return snap.ID, nil
}

// TestMergeAllOfAnything merges branches with whatever a tree can have, and compares with
// as many merges of two.
func TestMergeAllOfAnything(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
	drawn := rapid.Custom(func(t *rapid.T) []model {
		all := []model{drawModel(t)}
		for range 6 {
			all = append(all, all[0].edited(t))
		}
		return all
	})
	for seed := range 6 {
		trees := drawn.Example(seed)
		ids := make([]workspace.ID, len(trees))
		for i, m := range trees {
			ids[i] = m.written(t, s, dir)
		}
		all, err := s.MergeAll(ctx, ids[0], ids[1:], nil)
		must(t, err)
		joined, ours := ids[0], trees[0]
		var conflicts []workspace.Conflict
		for i, theirs := range trees[1:] {
			m, err := s.Merge(ctx, ids[0], joined, ids[i+1], nil)
			must(t, err)
			merged := contents(t, s, m.ID)
			nothingLost(t, trees[0], ours, theirs, merged, m.Conflicts)
			for _, c := range m.Conflicts {
				c.Branch = i
				conflicts = append(conflicts, c)
			}
			joined, ours = m.ID, merged
		}
		if joined != all.ID {
			t.Errorf("seed %d: one by one (-want +got):\n%s", seed, diffModels(ours, contents(t, s, all.ID)))
		}
		if d := cmp.Diff(conflicts, all.Conflicts); d != "" {
			t.Errorf("seed %d: conflicts one by one (-want +got):\n%s", seed, d)
		}
	}
}

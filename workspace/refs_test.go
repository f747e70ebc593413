package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/openrath-go/rath/workspace"
)

// plumbing runs git on a store.
func plumbing(gitDir string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"--git-dir", gitDir}, args...)...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("git %v: %w\n%s", args, err, out)
	}
	return string(out), err
}

// TestNamesAsGit has git and the store change names in turn: both see the same, and what git
// does not take is not taken.
func TestNamesAsGit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	ids := []workspace.ID{of("f", "1").written(t, s, dir), of("f", "2").written(t, s, dir)}
	drawName := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "runs", "1"}), 1, 3), func(parts []string) string {
		return strings.Join(parts, "/")
	})
	rapid.Check(t, func(rt *rapid.T) {
		want, err := s.Kept(ctx, "")
		must(t, err)
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			name, id := drawName.Draw(rt, "name"), rapid.SampledFrom(ids).Draw(rt, "id")
			taken := false
			for has := range want {
				taken = taken || strings.HasPrefix(has, name+"/") || strings.HasPrefix(name, has+"/")
			}
			switch rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0, 1:
				if err := s.Keep(ctx, name, id); (err != nil) != taken {
					rt.Fatalf("keep %s beside %v: %v", name, want, err)
				}
				if !taken {
					want[name] = id
				}
			case 2:
				if _, err := plumbing(gitDir, "update-ref", "refs/rath/"+name, string(id)); (err != nil) != taken {
					rt.Fatalf("git's update-ref %s beside %v: %v", name, want, err)
				}
				if !taken {
					want[name] = id
				}
			case 3:
				must(t, s.Drop(ctx, name))
				delete(want, name)
			default:
				_, err := plumbing(gitDir, "pack-refs", "--all")
				must(t, err)
			}
			got, err := s.Kept(ctx, "")
			must(t, err)
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("names (-want +got):\n%s", d)
			}
			if d := cmp.Diff(want, namesOfGit(t, gitDir)); d != "" {
				rt.Fatalf("git's names (-want +got):\n%s", d)
			}
		}
	})
}

func namesOfGit(t *testing.T, gitDir string) map[string]workspace.ID {
	t.Helper()
	out, err := plumbing(gitDir, "for-each-ref", "--format=%(refname) %(objectname)", "refs/rath")
	must(t, err)
	names := make(map[string]workspace.ID)
	for line := range strings.Lines(out) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		names[strings.TrimPrefix(name, "refs/rath/")] = workspace.ID(id)
	}
	return names
}

func TestNamesThatGitDoesNotTake(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, nil), t.TempDir()
	id := of("f", "1").written(t, s, dir)
	for _, name := range []string{"", "/", "a/", "/a", "a//b", ".", "..", "a/..", "../../HEAD", "a/.b", "a.lock", "a.lock/b", "a.", "a./b", "a..b",
		"a b", "a~", "a^", "a:b", "a?", "a*", "a[", `a\b`, "a@{b", "@", "a\tb", "a\x7f", "\x00", "ä/ö", "a-b_c.d", "-a", "@/a", "HEAD"} {
		good := exec.Command("git", "check-ref-format", "refs/rath/"+name).Run() == nil
		if err := s.Keep(ctx, name, id); (err == nil) != good {
			t.Errorf("git takes %q: %v, here: %v", name, good, err)
		}
		if err := s.Drop(ctx, name); (err == nil) != good {
			t.Errorf("git takes %q: %v, dropped: %v", name, good, err)
		}
	}
	if kept, err := s.Kept(ctx, ""); err != nil || len(kept) > 0 {
		t.Errorf("left behind: %v, %v", kept, err)
	}
}

func TestKeptUnderPrefix(t *testing.T) {
	ctx := context.Background()
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	id := of("f", "1").written(t, s, dir)
	for _, name := range []string{"runs/1/before", "runs/1/after", "runs/10/before", "other"} {
		must(t, s.Keep(ctx, name, id))
	}
	for range 2 { // loose, then packed
		for prefix, want := range map[string]int{"": 4, "runs": 3, "runs/": 3, "runs/1": 2, "runs/1/before": 1, "run": 0, "other/more": 0, "none": 0} {
			got, err := s.Kept(ctx, prefix)
			if err != nil || len(got) != want {
				t.Errorf("%q: %v, %v, want %d", prefix, got, err, want)
			}
		}
		_, err := plumbing(gitDir, "pack-refs", "--all")
		must(t, err)
	}
}

// TestNothingIsSpawned counts what is run for what happens around each call of a tool.
func TestNothingIsSpawned(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a script in the place of git")
	}
	ctx := context.Background()
	git, err := exec.LookPath("git")
	must(t, err)
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	must(t, os.WriteFile(filepath.Join(bin, "git"), fmt.Appendf(nil, "#!/bin/sh\necho \"$@\" >>'%s'\nexec '%s' \"$@\"\n", log, git), 0o755))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	s, dir := openStore(t, nil), t.TempDir()
	m := model{}
	for i := range 200 {
		m.put(fmt.Sprintf("d%d/f%d", i%7, i), file(fmt.Sprint(i)))
	}
	first := m.written(t, s, dir)
	must(t, s.Keep(ctx, "before", first))
	must(t, os.WriteFile(filepath.Join(dir, "d1", "f1"), []byte("changed"), 0o644))
	second := snapshot(t, s, dir)
	must(t, s.Keep(ctx, "after", second))
	_, err = s.Kept(ctx, "")
	must(t, err)
	contents(t, s, second)
	must(t, s.Drop(ctx, "before"))
	restore(t, s, dir, first)
	f, err := s.Fork(ctx, first, nil)
	must(t, err)
	must(t, f.Close())
	if said, err := os.ReadFile(log); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("git was run: %s (%v)", said, err)
	}
	if _, err := s.Diff(ctx, first, second); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(log); err != nil {
		t.Errorf("the script that counts does not: %v", err)
	}
}

// TestCollectMendsNames leaves what a git that was killed and a machine that went down leave.
func TestCollectMendsNames(t *testing.T) {
	ctx := context.Background()
	gitDir, dir := t.TempDir(), t.TempDir()
	s, err := workspace.Open(ctx, gitDir, nil)
	must(t, err)
	id := of("f", "1").written(t, s, dir)
	must(t, s.Keep(ctx, "good", id))
	for name, text := range map[string]string{"packed-refs.lock": "", "packed-refs.new": "half", "refs/rath/good.lock": "", "refs/rath/empty": "", "refs/rath/half": string(id)[:20]} {
		must(t, os.WriteFile(filepath.Join(gitDir, filepath.FromSlash(name)), []byte(text), 0o600))
	}
	for range 2 {
		kept, err := s.Kept(ctx, "")
		must(t, err)
		if d := cmp.Diff(map[string]workspace.ID{"good": id}, kept); d != "" {
			t.Errorf("names (-want +got):\n%s", d)
		}
		_, err = s.GC(ctx, &workspace.GCOptions{Grace: -1})
		must(t, err)
	}
	if d := diffModels(of("f", "1"), contents(t, s, id)); d != "" {
		t.Errorf("what was kept (-want +got):\n%s", d)
	}
}

package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/openrath-go/rath/workspace"
)

var methods = []workspace.Method{workspace.Overlay, workspace.Reflink, workspace.Copy}

// forkBy makes a fork by one method, or skips the test where that does not work.
func forkBy(t *testing.T, s *workspace.Store, id workspace.ID, method workspace.Method) *workspace.Fork {
	t.Helper()
	f, err := s.Fork(context.Background(), id, &workspace.ForkOptions{Methods: []workspace.Method{method}})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { must(t, f.Close()) })
	if f.Method != method {
		t.Skipf("it was a %s: %v", f.Method, f.Declined)
	}
	return f
}

func eachMethod(t *testing.T, f func(t *testing.T, method workspace.Method)) {
	for _, method := range methods {
		t.Run(string(method), func(t *testing.T) { f(t, method) })
	}
}

func TestForkIsolates(t *testing.T) {
	eachMethod(t, func(t *testing.T, method workspace.Method) {
		s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
		forkBy(t, s, of("f", "f").written(t, s, dir), method)
		rapid.Check(t, func(rt *rapid.T) {
			a := drawModel(rt)
			b := a.edited(rt)
			id := a.written(t, s, dir)
			options := &workspace.ForkOptions{Methods: []workspace.Method{method}}
			one, err := s.Fork(context.Background(), id, options)
			must(t, err)
			defer one.Close()
			other, err := s.Fork(context.Background(), id, options)
			must(t, err)
			defer other.Close()
			if d := diffModels(a, readModel(t, one.Dir)); d != "" {
				rt.Fatalf("a fork (-want +got):\n%s", d)
			}
			if same := snapshot(t, s, one.Dir); same != id {
				rt.Fatalf("the snapshot of a fork is %s, not %s", same, id)
			}
			second := b.written(t, s, one.Dir)
			if d := diffModels(b, readModel(t, one.Dir)); d != "" {
				rt.Fatalf("changed (-want +got):\n%s", d)
			}
			if d := diffModels(b, contents(t, s, second)); d != "" {
				rt.Fatalf("the snapshot of what was changed (-want +got):\n%s", d)
			}
			for name, at := range map[string]string{"the directory": dir, "another fork": other.Dir} {
				if d := diffModels(a, readModel(t, at)); d != "" {
					rt.Fatalf("%s changed with a fork (-want +got):\n%s", name, d)
				}
			}
			b.write(t, dir)
			if d := diffModels(a, readModel(t, other.Dir)); d != "" {
				rt.Fatalf("a fork changed with the directory (-want +got):\n%s", d)
			}
			next, err := s.Fork(context.Background(), second, options)
			must(t, err)
			defer next.Close()
			if d := diffModels(b, readModel(t, next.Dir)); d != "" {
				rt.Fatalf("a fork of a fork (-want +got):\n%s", d)
			}
			restore(t, s, one.Dir, id)
			if d := diffModels(a, readModel(t, one.Dir)); d != "" {
				rt.Fatalf("a fork restored (-want +got):\n%s", d)
			}
		})
	})
}

// TestForkChangedInPlace changes forks as programs do, where overlays have notes to take:
// renames of directories, appended lines, permissions, further names.
func TestForkChangedInPlace(t *testing.T) {
	eachMethod(t, func(t *testing.T, method workspace.Method) {
		s, dir := openStore(t, &workspace.Options{Ignored: true}), t.TempDir()
		forkBy(t, s, of("f", "f").written(t, s, dir), method)
		rapid.Check(t, func(rt *rapid.T) {
			a := drawModel(rt)
			id := a.written(t, s, dir)
			for range 2 { // a fork, and a fork of that
				f, err := s.Fork(context.Background(), id, &workspace.ForkOptions{Methods: []workspace.Method{method}})
				must(t, err)
				defer f.Close()
				for range rapid.IntRange(0, 8).Draw(rt, "changes") {
					changeInPlace(rt, f.Dir, slices.Sorted(maps.Keys(readModel(t, f.Dir))))
				}
				id = snapshot(t, s, f.Dir)
				if d := diffModels(readModel(t, f.Dir), contents(t, s, id)); d != "" {
					rt.Fatalf("the snapshot of a fork (-want +got):\n%s", d)
				}
			}
			if d := diffModels(a, readModel(t, dir)); d != "" {
				rt.Fatalf("the directory changed with a fork (-want +got):\n%s", d)
			}
			first, err := s.Fork(context.Background(), snapshot(t, s, dir), &workspace.ForkOptions{Methods: []workspace.Method{method}})
			must(t, err)
			defer first.Close()
			if d := diffModels(a, readModel(t, first.Dir)); d != "" {
				rt.Fatalf("another fork (-want +got):\n%s", d)
			}
		})
	})
}

// changeInPlace does one of the things that may fail: what is there then is what counts.
func changeInPlace(rt *rapid.T, dir string, paths []string) {
	at := func(p string) string { return filepath.Join(dir, filepath.FromSlash(p)) }
	to := at(drawPath(rt))
	if len(paths) == 0 {
		_ = os.WriteFile(to, []byte("first"), 0o644)
		return
	}
	from := at(rapid.SampledFrom(paths).Draw(rt, "changed"))
	switch rapid.IntRange(0, 6).Draw(rt, "how") {
	case 0, 1:
		_ = os.Rename(from, to)
	case 2:
		if info, err := os.Lstat(from); err == nil && info.Mode().IsRegular() {
			if f, err := os.OpenFile(from, os.O_APPEND|os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString("appended\n")
				_ = f.Close()
			}
		}
	case 3:
		if info, err := os.Lstat(from); err == nil && info.Mode().Type() != fs.ModeSymlink {
			_ = os.Chmod(from, info.Mode().Perm()^0o050)
		}
	case 4:
		_ = os.Link(from, to)
	case 5:
		_ = os.RemoveAll(from)
	default:
		_ = os.MkdirAll(to, 0o755)
	}
}

// TestForkChain makes more forks of forks than an overlay has layers.
func TestForkChain(t *testing.T) {
	eachMethod(t, func(t *testing.T, method workspace.Method) {
		s, dir := openStore(t, nil), t.TempDir()
		want := model{}
		for i := range 60 {
			want.put(fmt.Sprintf("d/%d", i), file(fmt.Sprint(i)))
		}
		id := want.written(t, s, dir)
		for i := range 20 {
			f := forkBy(t, s, id, method)
			must(t, os.RemoveAll(filepath.Join(f.Dir, fmt.Sprintf("d/%d", i))))
			must(t, os.WriteFile(filepath.Join(f.Dir, fmt.Sprintf("new%d", i)), []byte("new"), 0o644))
			want.remove(fmt.Sprintf("d/%d", i))
			want.put(fmt.Sprintf("new%d", i), file("new"))
			id = snapshot(t, s, f.Dir)
			if d := diffModels(want, contents(t, s, id)); d != "" {
				t.Fatalf("fork %d (-want +got):\n%s", i, d)
			}
		}
		if _, err := s.GC(context.Background(), &workspace.GCOptions{Grace: -1}); err != nil {
			t.Fatal(err)
		}
		f := forkBy(t, s, id, method)
		if d := diffModels(want, readModel(t, f.Dir)); d != "" {
			t.Fatalf("after a collection (-want +got):\n%s", d)
		}
	})
}

func TestForkIntoDirectory(t *testing.T) {
	eachMethod(t, func(t *testing.T, method workspace.Method) {
		s, dir := openStore(t, nil), t.TempDir()
		m := of("f", "f", "sub/g", "g")
		id := m.written(t, s, dir)
		forkBy(t, s, id, method)
		odd := filepath.Join(t.TempDir(), `a,b:c\d`, "fork")
		there := t.TempDir()
		for _, at := range []string{odd, there} {
			f, err := s.Fork(context.Background(), id, &workspace.ForkOptions{Dir: at, Methods: []workspace.Method{method}})
			must(t, err)
			if d := diffModels(m, readModel(t, at)); d != "" {
				t.Errorf("in %s (-want +got):\n%s", at, d)
			}
			must(t, f.Close())
			must(t, f.Close())
		}
		if _, err := os.Stat(odd); !os.IsNotExist(err) {
			t.Errorf("the directory that the fork made is still there: %v", err)
		}
		if entries, err := os.ReadDir(there); err != nil || len(entries) > 0 {
			t.Errorf("the directory that was there before has %v: %v", entries, err)
		}
	})
}

func TestForkSaysWhyNotCheaper(t *testing.T) {
	s, dir := openStore(t, nil), t.TempDir()
	f, err := s.Fork(context.Background(), of("f", "f").written(t, s, dir), nil)
	must(t, err)
	defer f.Close()
	if (f.Method == workspace.Overlay) != (f.Declined == nil) {
		t.Errorf("a fork by %s, others declined for %v", f.Method, f.Declined)
	}
}

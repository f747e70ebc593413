package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/workspace"
)

func TestTooLarge(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	m := of(".gitignore", "ignored\n", "ignored/1", strings.Repeat("1", 10_000), "ignored/2", "2", "small/1", "1")
	for i := range 20 {
		m.put(fmt.Sprintf("large/%d", i), file(strings.Repeat("x", 100)))
	}
	m.write(t, dir) // 24 entries of 2,009 bytes, ignored ones apart
	for _, test := range []struct {
		name    string
		options workspace.Options
		refused bool
	}{
		{"no bound", workspace.Options{}, false},
		{"just enough files", workspace.Options{MaxFiles: 24}, false},
		{"too many files", workspace.Options{MaxFiles: 23}, true},
		{"just enough bytes", workspace.Options{MaxBytes: 2009}, false},
		{"too many bytes", workspace.Options{MaxBytes: 2008}, true},
		{"excluded", workspace.Options{MaxFiles: 3, MaxBytes: 9, Exclude: []string{"large"}}, false},
		{"with what is ignored", workspace.Options{MaxFiles: 24, Ignored: true}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			gitDir := t.TempDir()
			s, err := workspace.Open(ctx, gitDir, &test.options)
			must(t, err)
			snap, err := s.Snapshot(ctx, dir)
			if !test.refused {
				must(t, err)
				return
			}
			var e *workspace.Error
			if !errors.Is(err, workspace.ErrTooLarge) || !errors.As(err, &e) || !strings.Contains(e.Hint(), ".gitignore") || snap != nil {
				t.Fatalf("a snapshot of too much: %v", err)
			}
			if !test.options.Ignored && !strings.Contains(err.Error(), `"large"`) {
				t.Errorf("%q does not say where the most is", err)
			}
			must(t, filepath.WalkDir(filepath.Join(gitDir, "objects"), func(p string, d fs.DirEntry, err error) error {
				if err == nil && d.Type().IsRegular() {
					t.Errorf("something was written: %s", p)
				}
				return err
			}))
		})
	}
}

// TestTooLargeBlamesNothing has a scan stop where no place has most of what was seen.
func TestTooLargeBlamesNothing(t *testing.T) {
	s, dir := openStore(t, &workspace.Options{MaxFiles: 3}), t.TempDir()
	of("a", "a", "b", "b", "c", "c", "d", "d").write(t, dir)
	_, err := s.Snapshot(context.Background(), dir)
	if err == nil || !strings.HasSuffix(err.Error(), "more than 3 files") {
		t.Errorf("got %v", err)
	}
}

// TestTooLargeIsSeenBeforeChanges has a restore refused before it changes anything.
func TestTooLargeIsSeenBeforeChanges(t *testing.T) {
	ctx := context.Background()
	s, dir := openStore(t, &workspace.Options{MaxFiles: 3}), t.TempDir()
	id := of("a", "a").written(t, s, dir)
	live := of("b", "b", "c", "c", "d", "d", "e", "e")
	live.write(t, dir)
	if _, err := s.Restore(ctx, dir, id); !errors.Is(err, workspace.ErrTooLarge) {
		t.Errorf("a restore over too much: %v", err)
	}
	if d := diffModels(live, readModel(t, dir)); d != "" {
		t.Errorf("something was changed (-want +got):\n%s", d)
	}
}

// TestTooLargeIsSeenSoon has the scan stop at the bound.
func TestTooLargeIsSeenSoon(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, &workspace.Options{MaxFiles: 5_000})
	if _, err := s.Snapshot(context.Background(), "/"); !errors.Is(err, workspace.ErrTooLarge) && !errors.Is(err, os.ErrPermission) {
		t.Errorf("a snapshot of everything: %v", err)
	}
	snapshot(t, s, dir)
}

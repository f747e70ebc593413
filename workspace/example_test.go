package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/workspace"
)

// Two branches change a directory on their own, and are merged.
func Example() {
	ctx := context.Background()
	home, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	dir := filepath.Join(home, "project")
	write := func(dir, name, text string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			fmt.Println(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			fmt.Println(err)
		}
	}
	write(dir, "poem.txt", "roses are red\n")

	s, err := workspace.Open(ctx, filepath.Join(home, "shadow.git"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	base, err := s.Snapshot(ctx, dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	branch := func(name, text string) workspace.ID {
		f, err := s.Fork(ctx, base.ID, nil)
		if err != nil {
			fmt.Println(err)
			return ""
		}
		defer f.Close()
		write(f.Dir, name, text)
		snap, err := s.Snapshot(ctx, f.Dir)
		if err != nil {
			fmt.Println(err)
			return ""
		}
		return snap.ID
	}
	ours := branch("poem.txt", "roses are blue\n")
	theirs := branch("title.txt", "On flowers\n")

	merged, err := s.Merge(ctx, base.ID, ours, theirs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("conflicts:", len(merged.Conflicts))
	changes, err := s.Diff(ctx, base.ID, merged.ID)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := workspace.Stat(os.Stdout, changes); err != nil {
		fmt.Println(err)
	}
	if _, err := s.Restore(ctx, dir, merged.ID); err != nil {
		fmt.Println(err)
	}

	// Output:
	// conflicts: 0
	// modified poem.txt (+1 -1)
	// added    title.txt (+1 -0)
	// 2 changed, 2 insertions(+), 1 deletions(-)
}

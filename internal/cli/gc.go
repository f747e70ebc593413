package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/workspace"
	"github.com/spf13/cobra"
)

func (a *app) gcCommand() *cobra.Command {
	var older string
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs and sessions, and what nothing refers to",
		Long: `Remove from the store the runs that ended before an age and the sessions that were made
before it, if no younger session or run comes from them, and everything that nothing
refers to any more: objects, and the snapshots of workspaces that no run and no session
has on record. Without --older-than only the latter goes. What programs that were killed
left of forks is removed too.`,
		Example: "  rath gc --older-than 30d --dry-run\n  rath gc --older-than 30d",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&older, "older-than", "", "an age such as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "remove nothing, only say what would go")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c := store.Collection{DryRun: dry}
		if older != "" {
			age, err := parseAge(older)
			if err != nil {
				return usageOf(cmd, fmt.Errorf("--older-than %s is no age such as 30d, 2w or 12h", older))
			}
			c.Before = time.Now().Add(-age)
		}
		return a.useRecords(cmd.Context(), changing, func(r *records) error { return a.gc(cmd.Context(), r, c) })
	}
	return cmd
}

func (a *app) gc(ctx context.Context, r *records, c store.Collection) error {
	p := a.progress("gc", 0)
	defer p.stop()
	n := collected{}
	var err error
	if n.Collected, err = r.Collect(ctx, c); err != nil {
		return storeFailure(err)
	}
	if err := r.collectSnapshots(ctx, c.DryRun, &n); err != nil {
		return err
	}
	p.stop()
	if a.asJSON {
		return a.writeJSON(n)
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	_, err = fmt.Fprintf(a.out, "%s %s, %s, %s, %s, %s (%s)\n", verb, plural(n.Runs, "run"), plural(n.Events, "event"),
		plural(n.Sessions, "session"), plural(n.Objects, "object"), plural(n.Snapshots, "snapshot"), amount(n.Bytes))
	for _, o := range n.Orphans {
		fmt.Fprintln(a.err, "fork of a program that ended: "+printable(o.text()))
	}
	return err
}

// collected is what a collection removed.
type collected struct {
	store.Collected
	Snapshots int      `json:"snapshots"`
	Orphans   []orphan `json:"orphans,omitempty"`
}

// orphan is a fork that a program left.
type orphan struct {
	Dir     string `json:"dir"`
	Kept    string `json:"kept,omitempty"` // the name of the snapshot that keeps what was in it
	Problem string `json:"problem,omitempty"`
}

func (o orphan) text() string {
	switch {
	case o.Problem != "":
		return o.Dir + ": " + o.Problem
	case o.Kept != "":
		return o.Dir + " is removed, what was in it is kept as " + o.Kept
	}
	return o.Dir + " is removed"
}

// collectSnapshots lets go of the snapshots that nothing on record names.
func (r *records) collectSnapshots(ctx context.Context, dry bool, n *collected) error {
	if _, err := os.Stat(filepath.Join(r.home, workspaceDir)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	ws, err := openWorkspace(ctx, r.home)
	if err != nil {
		return err
	}
	unnamed, err := r.unnamedSnapshots(ctx, ws)
	n.Snapshots = len(unnamed)
	if err != nil || dry {
		return err
	}
	for _, name := range unnamed {
		if err := ws.Drop(ctx, name); err != nil {
			return err
		}
	}
	sweepBranches(r.home)
	gone, err := ws.GC(ctx, nil)
	if err != nil {
		return err
	}
	for _, o := range gone.Orphans {
		left := orphan{Dir: o.Dir, Kept: o.Kept}
		if o.Err != nil {
			left.Problem = o.Err.Error()
		}
		n.Orphans = append(n.Orphans, left)
	}
	return nil
}

// unnamedSnapshots are the names that keep snapshots for runs and sessions which are gone,
// unless a session that is there is marked with them.
func (r *records) unnamedSnapshots(ctx context.Context, ws *workspace.Store) (names []string, err error) {
	owners, marked := map[string]bool{}, map[sandbox.SnapshotID]bool{}
	for h, err := range r.Heads(ctx, store.SessionFilter{}) {
		if err != nil {
			return nil, err
		}
		owners["sessions/"+h.ID.String()] = true
		for _, m := range h.Lineage.Marks() {
			marked[m.Snapshot] = true
		}
	}
	for run, err := range r.Runs(ctx, store.RunFilter{}) {
		if err != nil {
			return nil, err
		}
		owners["runs/"+run.ID.String()] = true
	}
	for _, kind := range []string{"runs/", "sessions/"} {
		kept, err := ws.Kept(ctx, kind)
		if err != nil {
			return nil, err
		}
		for name, id := range kept {
			if !owners[path.Dir(name)] && !marked[id] {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

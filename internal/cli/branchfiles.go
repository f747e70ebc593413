package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/workspace"
	"github.com/spf13/cobra"
)

// branchDirs is where in the home the directories of branches are.
const branchDirs = "branches"

// branchFiles says that a session which is made takes files along, and where to.
type branchFiles struct {
	workspace, markers bool
	dir                string
}

// branchDir is the directory that rath fork has made for a session or one that it comes
// from, if there is one and it is still there.
func branchDir(home string, s session.Session) string {
	p := s.Placement()
	if p.Backend != "local" || !within(p.Spec.WorkingDir, filepath.Join(resolved(home), branchDirs)) {
		return ""
	}
	if _, err := os.Stat(p.Spec.WorkingDir); err != nil {
		return ""
	}
	return p.Spec.WorkingDir
}

func (b *branchFiles) flags(cmd *cobra.Command, dir string) {
	cmd.Flags().BoolVar(&b.workspace, "workspace", false, "take the files of the workspace along")
	cmd.Flags().StringVar(&b.dir, "dir", "", dir)
}

func (b *branchFiles) wanted() bool { return b.workspace || b.dir != "" || b.markers }

// target is the directory for a session, and whether there is something in it.
func (b *branchFiles) target(home string, id session.ID) (dir string, full bool, err error) {
	if dir = b.dir; dir == "" {
		dir = filepath.Join(resolved(home), branchDirs, id.String())
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return dir, false, err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, false, nil
	}
	return dir, len(entries) > 0, err
}

// place writes a snapshot into the session's own directory, and places the session there.
func (b *branchFiles) place(ctx context.Context, a *app, r *records, s session.Session, id sandbox.SnapshotID) (session.Session, error) {
	dir, full, err := b.target(r.home, s.ID())
	if err != nil {
		return s, err
	}
	if full {
		return s, usage(&hinted{fmt.Errorf("--dir %s: there is something in it", b.dir), "name a directory that is empty or does not exist"})
	}
	ws, err := openWorkspace(ctx, r.home)
	if err != nil {
		return s, err
	}
	if err := b.restore(ctx, ws, dir, id); err != nil {
		return s, err
	}
	return a.placed(ctx, ws, s, dir, id)
}

// restore fills a new directory, and takes it away again if that fails.
func (b *branchFiles) restore(ctx context.Context, ws *workspace.Store, dir string, id sandbox.SnapshotID) error {
	_, err := os.Lstat(dir)
	made := errors.Is(err, fs.ErrNotExist)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	_, err = ws.Restore(ctx, dir, id)
	if err != nil && made {
		_ = os.RemoveAll(dir)
	}
	return err
}

// placed returns the session as one whose workspace is a directory that is as a snapshot
// says.
func (a *app) placed(ctx context.Context, ws *workspace.Store, s session.Session, dir string, id sandbox.SnapshotID) (session.Session, error) {
	if err := ws.Keep(ctx, "sessions/"+s.ID().String()+"/"+string(id), id); err != nil {
		return s, err
	}
	record := s.WithMark(id).Record()
	record.Placement = sandbox.Placement{Backend: "local", ID: s.ID().String(), Spec: sandbox.Spec{WorkingDir: dir}, Forkable: true}
	fmt.Fprintln(a.err, "files: "+printable(dir))
	return session.Restore(record, s.Parents()...), nil
}

// merge merges the files of sessions for the merged session.
func (b *branchFiles) merge(ctx context.Context, a *app, r *records, all []found, merged session.Session) (session.Session, error) {
	ws, err := openWorkspace(ctx, r.home)
	if err != nil {
		return merged, err
	}
	base, err := r.commonSnapshot(ctx, all)
	if err != nil {
		return merged, err
	}
	ends := make([]sandbox.SnapshotID, len(all))
	for i, f := range all {
		if ends[i], err = r.snapshot(ctx, f); err != nil {
			return merged, err
		}
	}
	m, err := ws.MergeAll(ctx, base, ends, &workspace.MergeOptions{Markers: b.markers})
	if err != nil {
		return merged, err
	}
	if len(m.Conflicts) > 0 && !b.markers {
		return merged, &hinted{conflictError(all, m.Conflicts), "rath diff A B --files shows the changes; --markers merges them with both sides between markers"}
	}
	for _, c := range m.Conflicts {
		fmt.Fprintln(a.err, "conflict: "+printable(conflictText(all, c)))
	}
	dir, full, err := b.target(r.home, merged.ID())
	switch {
	case err != nil:
		return merged, err
	case !full:
		err = b.restore(ctx, ws, dir, m.ID)
	default:
		m.ID, err = applyTo(ctx, ws, dir, base, m.ID)
	}
	if err != nil {
		return merged, err
	}
	return a.placed(ctx, ws, merged, dir, m.ID)
}

// applyTo merges changes into a directory that is in use, and returns what it is then.
func applyTo(ctx context.Context, ws *workspace.Store, dir string, base, to sandbox.SnapshotID) (sandbox.SnapshotID, error) {
	if _, err := ws.Apply(ctx, dir, base, to); err != nil {
		return "", err
	}
	now, err := ws.Snapshot(ctx, dir)
	if err != nil {
		return "", err
	}
	return now.ID, nil
}

// commonSnapshot is what the files were in the last session that others all come from.
func (r *records) commonSnapshot(ctx context.Context, all []found) (sandbox.SnapshotID, error) {
	count := map[session.ID]int{}
	var common []session.Head
	for i, f := range all {
		lineage, err := r.lineage(ctx, f, store.SessionFilter{})
		if err != nil {
			return "", err
		}
		for _, l := range lineage {
			if count[l.ID] == i {
				count[l.ID]++
			}
			if count[l.ID] == len(all) {
				common = append(common, l.Head)
			}
		}
	}
	var last session.Head
	for _, h := range common {
		if h.Lineage.Op != session.OpLeaf && h.Len >= last.Len && !h.Lineage.Time.Before(last.Lineage.Time) {
			last = h
		}
	}
	if last.ID.IsZero() {
		err := fmt.Errorf("merge the files of %d sessions: they come from no common session whose files are known", len(all))
		return "", &hinted{err, "branches that rath fork --workspace makes of one session do"}
	}
	f, err := r.load(ctx, last.ID)
	if err != nil {
		return "", err
	}
	f.n = f.Len()
	return r.snapshot(ctx, f)
}

// conflictError says which files do not go together.
func conflictError(all []found, conflicts []workspace.Conflict) error {
	var lines []string
	for _, c := range conflicts {
		lines = append(lines, conflictText(all, c))
	}
	return fmt.Errorf("the files do not go together: %s", strings.Join(lines, "; "))
}

func conflictText(all []found, c workspace.Conflict) string {
	return fmt.Sprintf("%s (%s, in %s)", c.Path, c.Kind, all[c.Branch].ID())
}

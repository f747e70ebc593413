package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

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
	given              func(flag string) bool
}

// branchDir is the directory that was made for a session or for the one that it goes on
// from, empty if there is none. It is an error if that is gone: its files are meant.
func (r *records) branchDir(ctx context.Context, s session.Session) (string, error) {
	for h := s.Head(); !h.ID.IsZero(); {
		if p := h.Placement; p.Backend == "local" && p.ID == h.ID.String() {
			if _, err := os.Stat(p.Spec.WorkingDir); err != nil {
				err := fmt.Errorf("the folder of session %s, %s: %w", h.ID, p.Spec.WorkingDir, err)
				return "", &hinted{err, "rath fork --workspace makes another; or name one with --sandbox local:DIR"}
			}
			return p.Spec.WorkingDir, nil
		}
		var err error
		if h, err = r.source(ctx, h); err != nil {
			return "", err
		}
	}
	return "", nil
}

// source is the session that another one goes on from, the zero Head if there is none.
func (r *records) source(ctx context.Context, h session.Head) (session.Head, error) {
	for _, p := range h.Lineage.Parents {
		if p.Role != session.RoleInput {
			continue
		}
		heads, err := collect(r.Heads(ctx, store.SessionFilter{Prefix: p.ID.String(), Limit: 1}))
		if err != nil || len(heads) == 0 {
			return session.Head{}, err
		}
		return heads[0], nil
	}
	return session.Head{}, nil
}

func (b *branchFiles) flags(cmd *cobra.Command, dir string) {
	cmd.Flags().BoolVar(&b.workspace, "workspace", false, "take the files of the workspace along")
	cmd.Flags().StringVar(&b.dir, "dir", "", dir)
	b.given = cmd.Flags().Changed
}

// wanted reports whether files are to be taken along.
func (b *branchFiles) wanted() (bool, error) {
	if b.given("dir") && b.dir == "" {
		return false, usage(errors.New("--dir is empty: leave it out, or give it a value"))
	}
	return b.workspace || b.dir != "" || b.markers, nil
}

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

// partial begins the names of folders that are not filled yet.
const partial = ".rath-partial-"

// restore makes a directory of a snapshot, as a whole or not at all.
func (b *branchFiles) restore(ctx context.Context, ws *workspace.Store, dir string, id sandbox.SnapshotID) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), partial)
	if err != nil {
		return err
	}
	if err = os.Chmod(half, 0o755); err == nil {
		_, err = ws.Restore(ctx, half, id)
	}
	if err == nil {
		err = replaceEmpty(half, dir)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	return nil
}

// replaceEmpty gives a folder the name of one that is empty or not there.
func replaceEmpty(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &hinted{err, "name a directory that is empty or does not exist"}
	}
	return os.Rename(from, to)
}

// sweepBranches removes what was left of directories that were never filled, a while ago.
func sweepBranches(home string) {
	halves, _ := filepath.Glob(filepath.Join(home, branchDirs, partial+"*"))
	for _, half := range halves {
		if info, err := os.Stat(half); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(half) // what cannot be removed now may be the next time
		}
	}
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
	dir, full, err := b.target(r.home, merged.ID())
	if err != nil {
		return merged, err
	}
	_, c, err := a.home()
	if err != nil {
		return merged, err
	}
	ws, err := openWorkspaces(ctx, r.home, excluded(dir, hiddenFrom(dir, c, r.home)), dir)
	if err != nil {
		return merged, err
	}
	base, m, err := b.combine(ctx, a, r, ws, all)
	if err != nil {
		return merged, err
	}
	if !full {
		err = b.restore(ctx, ws, dir, m)
	} else {
		m, err = applyTo(ctx, ws, dir, base, m)
	}
	if err != nil {
		return merged, err
	}
	return a.placed(ctx, ws, merged, dir, m)
}

// combine merges what the files of sessions are into one snapshot.
func (b *branchFiles) combine(ctx context.Context, a *app, r *records, ws *workspace.Store, all []found) (base, merged sandbox.SnapshotID, err error) {
	if base, err = r.commonSnapshot(ctx, all); err != nil {
		return "", "", err
	}
	ends := make([]sandbox.SnapshotID, len(all))
	for i, f := range all {
		if ends[i], err = r.snapshot(ctx, f); err != nil {
			return "", "", err
		}
	}
	m, err := ws.MergeAll(ctx, base, ends, &workspace.MergeOptions{Markers: b.markers})
	if err != nil {
		return "", "", err
	}
	if len(m.Conflicts) > 0 && !b.markers {
		return "", "", &hinted{conflictError(all, m.Conflicts), "rath diff A B --files shows the changes; --markers merges them with both sides between markers"}
	}
	for _, c := range m.Conflicts {
		fmt.Fprintln(a.err, "conflict: "+printable(conflictText(all, c)))
	}
	return base, m.ID, nil
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

// commonSnapshot is what the files were in the last session that others all come from, as
// far as what they have of it goes.
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
		if h.Lineage.Path == "" && h.Lineage.Op == session.OpLeaf { // a prompt, or what a user wrote
			continue
		}
		if h.Len >= last.Len && !h.Lineage.Time.Before(last.Lineage.Time) {
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
	n := f.Len()
	for _, side := range all {
		cut := session.Restore(session.Record{Content: side.Transcript().First(side.n)})
		n = min(n, session.Diff(f.Session, cut).Common)
	}
	return r.snapshotAt(ctx, f.Session, n)
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

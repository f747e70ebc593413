package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/workspace"
)

// changeJSON is what happened to a file.
type changeJSON struct {
	Kind       workspace.ChangeKind `json:"kind"`
	Path       string               `json:"path"`
	From       string               `json:"from,omitempty"`
	Binary     bool                 `json:"binary,omitempty"`
	Insertions int                  `json:"insertions"`
	Deletions  int                  `json:"deletions"`
}

func changesJSON(changes []workspace.Change) []changeJSON {
	out := make([]changeJSON, len(changes))
	for i, c := range changes {
		out[i] = changeJSON{c.Kind, c.Path, c.From, c.Binary, c.Insertions, c.Deletions}
	}
	return out
}

// callFiles is what a call did to the files of the workspace.
type callFiles struct {
	Chunk   int                `json:"chunk,omitempty"` // its result's number in a session
	Before  sandbox.SnapshotID `json:"before,omitempty"`
	After   sandbox.SnapshotID `json:"after,omitempty"`
	Changes []changeJSON       `json:"changes"`
	Problem string             `json:"problem,omitempty"` // why it is not all

	lines []string
}

// callFiles returns what the calls of a session did, by the runs that the session and what it
// comes from were made in.
func (r *records) callFiles(ctx context.Context, s found) ([]callFiles, error) {
	changes, err := r.changesOf(ctx, s)
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	ws, missing := openWorkspace(ctx, r.home)
	var out []callFiles
	for i, c := range s.Transcript().First(s.n).All() {
		if same := changes[c.Digest()]; len(same) > 0 && c.Kind() == session.KindToolResult {
			f := describeChange(ctx, ws, missing, same[0])
			f.Chunk = i
			if len(same) > 1 { // another call with the same result comes further on
				changes[c.Digest()] = same[1:]
			}
			if len(f.Changes) > 0 || f.Problem != "" {
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// describeChange finds out what a change was. An error says why there is no store.
func describeChange(ctx context.Context, ws *workspace.Store, err error, c tool.Change) callFiles {
	f := callFiles{Before: c.Before, After: c.After, Changes: []changeJSON{}, Problem: c.Problem}
	if c.Problem != "" || c.Before == c.After {
		return f
	}
	var changes []workspace.Change
	if err == nil {
		changes, err = ws.Diff(ctx, c.Before, c.After)
	}
	if err != nil {
		f.Problem = "what changed cannot be told: " + err.Error()
	}
	f.Changes = changesJSON(changes)
	for _, c := range changes {
		f.lines = append(f.lines, c.String())
	}
	return f
}

// text is what the user reads of it.
func (f callFiles) text() []string {
	lines := slices.Clone(f.lines)
	if f.Problem != "" {
		lines = append(lines, "("+oneLine(f.Problem, 300)+")")
	}
	return lines
}

// changesOf returns what the calls that gave a session's results did to files, by the
// digests of the results: in the order of the runs, and of the branches in each, as
// results that are the same stand in the session.
func (r *records) changesOf(ctx context.Context, s found) (map[session.Digest][]tool.Change, error) {
	lineage, err := r.lineage(ctx, s, store.SessionFilter{})
	if err != nil {
		return nil, err
	}
	changes, seen := map[session.Digest][]tool.Change{}, map[string]bool{"": true}
	for _, l := range slices.Backward(lineage) {
		if seen[l.Lineage.Run] || len(l.Lineage.Marks()) == 0 {
			continue
		}
		seen[l.Lineage.Run] = true
		run, err := session.ParseID(l.Lineage.Run)
		if err != nil {
			continue
		}
		effects, err := r.effects(ctx, run)
		if errors.Is(err, store.ErrNotFound) {
			continue // it was imported, or collected
		}
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(effects, func(x, y *store.Effect) int { return strings.Compare(x.Path, y.Path) })
		for _, x := range effects {
			if result, change, err := r.change(ctx, x); err == nil && change != (tool.Change{}) {
				changes[result.Digest()] = append(changes[result.Digest()], change)
			}
		}
	}
	return changes, nil
}

// change reads what a call did, from its effect: the zero Change if nothing is on record.
func (r *records) change(ctx context.Context, x *store.Effect) (session.Chunk, tool.Change, error) {
	var value struct {
		Chunk  session.Chunk `json:"chunk"`
		Change tool.Change   `json:"workspace"`
	}
	if x.Kind != "tool" || !x.Done || x.Class == effect.ReadOnly.String() {
		return value.Chunk, value.Change, nil
	}
	raw, err := store.Unpack(x.Result.Value, func(digest session.Digest) ([]byte, error) { return r.Object(ctx, digest) })
	if err == nil {
		err = json.Unmarshal(raw, &value)
	}
	return value.Chunk, value.Change, err
}

// diffFiles compares the files of two sessions.
func (a *app) diffFiles(ctx context.Context, r *records, args []string, stat bool) error {
	ws, err := openWorkspace(ctx, r.home)
	if err != nil {
		return err
	}
	var ids [2]sandbox.SnapshotID
	for i, arg := range args {
		s, err := r.session(ctx, arg)
		if err != nil {
			return err
		}
		if ids[i], err = r.snapshot(ctx, s); err != nil {
			return err
		}
	}
	changes, err := ws.Diff(ctx, ids[0], ids[1])
	switch {
	case err != nil:
		return err
	case a.asJSON:
		return a.writeJSON(map[string]any{"a": ids[0], "b": ids[1], "changes": changesJSON(changes)})
	case len(changes) == 0:
		_, err = fmt.Fprintln(a.out, "no difference between the files")
		return err
	case stat:
		return workspace.Stat(a.out, changes)
	}
	var patch strings.Builder
	if err := ws.Patch(ctx, &patch, ids[0], ids[1], nil); err != nil {
		return err
	}
	_, err = io.WriteString(a.out, a.paint(prose(patch.String())))
	return err
}

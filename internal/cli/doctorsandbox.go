package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// examineSandbox says what can be enforced here, and what rath run would choose.
func (a *app) examineSandbox(ctx context.Context) (found []finding) {
	for _, status := range local.Probe(ctx) {
		f := finding{"sandbox", "ok", "level " + status.Level + " works here"}
		switch {
		case status.Err != nil:
			f.State, f.Text = "note", withHint(status.Err)
		case status.Level == sandbox.LevelHost:
			f.Text = "level host works everywhere: commands run as this user, and reach what it can"
		}
		found = append(found, f)
	}
	for _, f := range a.examineDefault(ctx) {
		if !slices.Contains(found, f) { // a level that does not work is not chosen either
			found = append(found, f)
		}
	}
	return append(append(found, a.examineWorkspace(ctx), examineDocker(ctx)), examineOpenSandbox(ctx)...)
}

// examineDefault opens what rath run would, without snapshots.
func (a *app) examineDefault(ctx context.Context) []finding {
	home, c, err := a.home()
	if err != nil {
		return nil // the home's finding says so
	}
	p := &place{Policy: sandbox.Policy{Level: sandbox.LevelStrongest}}
	sb, err := p.open(ctx, "local:.", c, home)
	if err != nil {
		return []finding{{"sandbox", "problem", withHint(err)}}
	}
	defer sb.Close()
	found := []finding{{"sandbox", "ok", fmt.Sprintf("rath run takes %s: level %s, network: %s", sb, p.Policy.Level, p.Policy.Network)}}
	for _, err := range p.refusals {
		found = append(found, finding{"sandbox", "note", withHint(err)})
	}
	if languages := sb.Capabilities().Languages; len(languages) > 0 {
		found = append(found, finding{"sandbox", "ok", "code in " + strings.Join(languages, ", ")})
	}
	return found
}

// examineWorkspace says whether snapshots of workspaces can be kept.
func (a *app) examineWorkspace(ctx context.Context) finding {
	home, _, err := config.Home(a.env)
	if err != nil {
		return finding{"files", "note", "without a home no snapshots of workspaces are kept"}
	}
	text := "snapshots of workspaces are kept in " + filepath.Join(home, workspaceDir)
	if _, err := os.Stat(filepath.Join(home, workspaceDir)); err != nil { // it is not made for the question's sake
		tmp, err := os.MkdirTemp("", "rath-doctor-")
		if err != nil {
			return finding{"files", "problem", err.Error()}
		}
		defer os.RemoveAll(tmp)
		home = tmp
	}
	st, err := openWorkspaces(ctx, home, nil)
	if noGit(err) {
		return finding{"files", "note", "no snapshots of workspaces are kept: " + withHint(err)}
	}
	if err == nil {
		_, err = st.Kept(ctx, "")
	}
	if err != nil {
		return finding{"files", "problem", withHint(err)}
	}
	return finding{"files", "ok", text}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/workspace"
)

// place is where the tools of a run work, and by what rules. Opening it settles them:
// whoever goes on with the run has the same, or is refused.
type place struct {
	Policy    sandbox.Policy `json:"policy"`
	Asked     sandbox.Policy `json:"asked,omitzero"`     // what it was settled from, of a local one: a new run begins with that
	Dir       string         `json:"dir,omitempty"`      // the workspace, if the URL does not say it
	Uploaded  bool           `json:"uploaded,omitempty"` // Dir is, for it cannot be bound: the files go with the sandbox
	Snapshots bool           `json:"snapshots,omitempty"`

	optional bool     // snapshots are, as long as it is not settled
	brought  bool     // the rules are those of a home that the working directory has brought
	refusals []error  // why it is at no stronger level, if it is to be at the strongest
	memory   []string // the files of the run's memory
}

// opening is what sandboxes are opened with.
type opening struct {
	*place
	name   string // what follows the URL's scheme
	config *config.Config
	home   string
}

// sandboxURLs are what --sandbox can be.
const sandboxURLs = "local:DIR, docker:IMAGE, opensandbox:IMAGE, none, or @NAME for one that rath sandboxes has"

// open opens the sandbox of a URL; nil for "none".
func (p *place) open(ctx context.Context, url string, c *config.Config, home string) (sb *sandbox.Sandbox, err error) {
	scheme, name, _ := strings.Cut(url, ":")
	o := opening{p, name, c, home}
	id, registered := strings.CutPrefix(url, "@")
	switch {
	case registered:
		sb, err = attachRemote(ctx, o, id)
	case scheme == "none":
		return nil, nil
	case scheme == "local":
		sb, err = openLocal(ctx, o)
	default:
		sb, err = openRemote(ctx, scheme, o, nil)
	}
	if err != nil {
		return nil, err
	}
	p.Policy = sb.Policy()
	return sb, nil
}

func openLocal(ctx context.Context, o opening) (*sandbox.Sandbox, error) {
	dir := cmp.Or(o.name, ".")
	opts := &local.Options{Policy: o.Policy, Hidden: o.hidden(dir), Apart: within(resolved(dir), resolved(o.home))}
	if o.Asked.Level == "" {
		o.Asked = o.Policy
	}
	var err error
	if opts.Workspace, err = o.workspaces(ctx, dir, excluded(dir, opts.Hidden)); err != nil {
		return nil, err
	}
	sb, err := local.Open(ctx, dir, opts)
	if err == nil && o.Asked.Level == sandbox.LevelStrongest {
		opts.Policy = o.Asked
		o.refusals = refusals(ctx, dir, *opts, sb.Policy().Level)
	}
	return sb, err
}

// refusals tells why a policy is at no stronger level than the one it got.
func refusals(ctx context.Context, dir string, opts local.Options, got string) (all []error) {
	for _, level := range []string{sandbox.LevelBubblewrap, sandbox.LevelLandlock} {
		if level == got {
			break
		}
		opts.Policy.Level = level
		sb, err := local.Open(ctx, dir, &opts)
		if err == nil {
			err = &hinted{fmt.Errorf("level %q works now, and did not when it was chosen", level), "rath rerun begins anew at the strongest level"}
			all = append(all, errors.Join(err, sb.Close()))
			continue
		}
		var refusal *sandbox.PolicyError
		if errors.As(err, &refusal) {
			err = refusal
		}
		all = append(all, err)
	}
	return all
}

// What a workspace may have for snapshots of it to be taken.
const (
	mostFiles = 100_000
	mostBytes = 1 << 30
)

// workspaces opens the store of snapshots for a sandbox, nil if it is to have none.
func (o opening) workspaces(ctx context.Context, dir string, exclude []string) (*workspace.Store, error) {
	if !o.Snapshots {
		return nil, nil
	}
	untrusted, err := absolutes(append(slices.Clone(o.Policy.Writable), dir))
	if err != nil {
		return nil, err
	}
	st, err := openWorkspaces(ctx, o.home, exclude, untrusted...)
	if o.optional && noGit(err) {
		o.Snapshots, err = false, nil
	}
	return st, err
}

func noGit(err error) bool {
	return errors.Is(err, workspace.ErrNoGit) || errors.Is(err, workspace.ErrOldGit)
}

// openWorkspaces opens the store of snapshots in a home, and sees that git will do. What is
// excluded are slash paths in the workspace; what is untrusted are absolute folders that
// commands may have put a git into.
func openWorkspaces(ctx context.Context, home string, exclude []string, untrusted ...string) (*workspace.Store, error) {
	st, err := workspace.Open(ctx, filepath.Join(home, workspaceDir), &workspace.Options{
		Exclude: append([]string{".openrath"}, exclude...), Unreadable: true, Untrusted: untrusted, MaxFiles: mostFiles, MaxBytes: mostBytes,
	})
	if err == nil {
		_, err = st.Kept(ctx, "none")
	}
	if err != nil {
		return nil, storeHint(err)
	}
	return st, nil
}

// hiddenFrom are the files that hold keys and records, as a workspace must not reach them:
// the home as a whole, of which the workspace may be a part, and only where the workspace
// is the home itself what is kept in it.
func hiddenFrom(dir string, c *config.Config, home string) (hidden []string) {
	home = resolved(home)
	if resolved(dir) != home {
		hidden = []string{home}
	} else {
		for _, name := range homeNames() {
			hidden = append(hidden, filepath.Join(home, name))
		}
	}
	for _, file := range c.Files() {
		if file = resolved(file); !within(file, home) { // a link leads there
			hidden = append(hidden, file)
		}
	}
	return hidden
}

// homeNames are what OpenRath and this program keep in a home.
func homeNames() []string {
	names := []string{"config.json", "credentials.json", "sessions", "sandboxes", "memory", workspaceDir, branchDirs}
	for _, end := range storeFiles {
		names = append(names, storeFile+end)
	}
	return names
}

// hidden are the files that the workspace must not reach: those and the run's memory.
func (o opening) hidden(dir string) []string {
	hidden, home := hiddenFrom(dir, o.config, o.home), resolved(o.home)
	for _, file := range o.memory {
		if file = resolved(file); !within(file, home) {
			hidden = append(hidden, file)
		}
	}
	return hidden
}

// excluded is what of the hidden is no part of a workspace's snapshots.
func excluded(dir string, hidden []string) (names []string) {
	for _, name := range hidden {
		if rel, err := filepath.Rel(resolved(dir), name); err == nil && filepath.IsLocal(rel) {
			names = append(names, filepath.ToSlash(rel))
		}
	}
	return names
}

// resolved is a name without symbolic links, as far as there is such a file.
func resolved(name string) string {
	name, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	for dir, rest := name, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return name
		}
	}
}

// within reports whether a name is a folder or below it.
func within(name, dir string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// choosePlace finds what --sandbox and the rules say, as another process finds it again.
func (f runFlags) choosePlace(a *app, home string) (url string, p *place, err error) {
	p = &place{Snapshots: f.snapshots, optional: !f.rules.given("snapshots")}
	if name, registered := strings.CutPrefix(f.sandbox, "@"); registered {
		if url, err = p.find(name, f.rules, home); err == nil {
			err = a.examineRules(p)
		}
		return url, p, err
	}
	scheme, _, _ := strings.Cut(f.sandbox, ":")
	_, isRemote := remotes[scheme]
	if !isRemote && scheme != "local" && f.sandbox != "none" {
		return "", p, usage(&hinted{fmt.Errorf("--sandbox %q: unknown scheme", f.sandbox), "use " + sandboxURLs})
	}
	if p.Policy, err = f.rules.at(f.sandbox, sandbox.Policy{}); err == nil && isRemote {
		p.Dir, err = filepath.Abs(".")
	}
	if err == nil {
		url, err = absolute(f.sandbox)
	}
	return url, p, err
}

// find looks a registered sandbox up.
func (p *place) find(name string, r rules, home string) (url string, err error) {
	reg := registryOf(home)
	e, err := reg.Find(name)
	if err != nil {
		return "", sandboxHint(err)
	}
	url = "@" + e.ID
	if e.Backend == "local" {
		url = "local:" + e.Spec.WorkingDir
	} else if given := r.named(); given != "" {
		return "", keepsRules(given, name)
	}
	p.Policy, err = r.at(url, e.Policy)
	if err == nil && e.Owned {
		err = os.MkdirAll(e.Spec.WorkingDir, 0o700)
	}
	if err == nil {
		err = reg.Touch(e)
	}
	return url, err
}

// announce says where the tools of a run work, and whether nothing keeps them there.
func (d *drive) announce() {
	d.announceMemory()
	d.announceFlow()
	d.announcePolicy()
	d.announceBudget()
	if d.sandbox == nil || d.spec.Place == nil {
		return
	}
	p := d.spec.Place
	if !d.a.asJSON {
		d.view.note("2", "sandbox", fmt.Sprintf("%s (%s, network: %s)", d.sandbox, p.Policy.Level, p.Policy.Network))
	}
	switch {
	case p.Uploaded && d.sandbox.Workspace() != nil:
		d.view.note("2", "files", "those of "+p.Dir+" were uploaded; what changes is brought back when the run ends or is put down")
	case p.Uploaded:
		d.view.note("33", "warning", "the files of "+p.Dir+" were uploaded: what changes in the sandbox does not change them, and goes with it")
	}
	if p.brought {
		d.warnOfRules()
	}
	var reasons, hints []string
	for _, err := range p.refusals {
		reasons, hints = append(reasons, err.Error()), append(hints, hintOf(err))
	}
	switch {
	case len(reasons) == 0:
	case p.Policy.Level == sandbox.LevelHost:
		d.view.note("33", "warning", "commands are not isolated, they can do what you can: "+strings.Join(reasons, "; "))
		d.view.note("33", "hint", strings.Join(hints, "; or ")+"; or, if it is meant to be so, --isolation host")
	case !d.a.asJSON:
		d.view.note("2", "level", p.Policy.Level+", as "+strings.Join(reasons, "; "))
	}
}

// examineRules looks at the rules of a record in the home. Where the working directory has
// brought the home, anybody may have written them: they get none of the user's variables,
// and what they allow is said.
func (a *app) examineRules(p *place) (err error) {
	if p.brought, err = a.homeIsBrought(); err != nil || !p.brought {
		return err
	}
	if env := append(slices.Clone(p.Policy.Env), p.Asked.Env...); len(env) > 0 {
		err := fmt.Errorf("the rules give commands the variables %s of yours: the working directory says so, and nothing else", strings.Join(env, ", "))
		return &hinted{err, "take env out of the sandbox's file in " + workDirHome + ", or keep the sandbox in a home of yours: OPENRATH_HOME"}
	}
	return nil
}

// warnOfRules says what rules allow that the working directory has brought.
func (d *drive) warnOfRules() {
	var allowed []string
	p, at := d.spec.Place.Policy, d.sandbox.Placement()
	if p.Level == sandbox.LevelHost {
		allowed = append(allowed, "level host, at which commands can do what you can")
	}
	if p.Network == sandbox.NetworkAllow {
		allowed = append(allowed, "network allow")
	}
	if at.Backend == "local" && !within(at.Spec.WorkingDir, resolved(".")) {
		allowed = append(allowed, "the workspace "+at.Spec.WorkingDir)
	}
	for _, name := range p.ReadOnly {
		allowed = append(allowed, "to read "+name)
	}
	for _, name := range p.Writable {
		allowed = append(allowed, "to change "+name)
	}
	if len(allowed) > 0 {
		d.view.note("33", "warning", "the working directory has brought the rules with it ("+workDirHome+"), and they allow "+strings.Join(allowed, ", "))
	}
}

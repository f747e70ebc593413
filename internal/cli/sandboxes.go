package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/registry"
	"github.com/openrath-go/rath/workspace"
	"github.com/spf13/cobra"
)

// registryOf returns the registry of the sandboxes that a home has.
func registryOf(home string) *registry.Registry {
	return registry.New(filepath.Join(home, "sandboxes"))
}

// sandboxHint says where to find the sandbox that was meant.
func sandboxHint(err error) error {
	if errors.Is(err, registry.ErrNotFound) {
		return &hinted{err, "rath sandboxes ls shows them, rath sandboxes create NAME makes one"}
	}
	return err
}

func (a *app) sandboxesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "sandboxes",
		Aliases: []string{"sandbox"},
		Short:   "Keep sandboxes under a name, and clear away what is left of others",
		Long: `A sandbox is where an agent's tools work: rath run --sandbox URL.

  local:DIR          a folder of this machine; the default is the one you are in
  docker:IMAGE       a container of a Docker engine, in which that folder is bound; the
                     image must be there
  opensandbox:IMAGE  a sandbox of an OpenSandbox server (OPEN_SANDBOX_DOMAIN and
                     OPEN_SANDBOX_API_KEY name it), where it is bound, or uploaded
  none               nowhere: the agent has no tools
  @NAME              one that rath sandboxes create has made: it stays as it is left,
                     until it is removed; others end with the run

Tools for files reach nothing outside the folder. What commands reach of this machine
depends on the level, which rath run --isolation chooses for local ones:

  bubblewrap  the folder and the system's programs, in namespaces of their own, in which
              there are no other files, processes or networks
  landlock    the same, by rules of the kernel: they see that other files and processes
              are there, and cannot open them
  host        all that you can reach

Without the flag it is the strongest that works here; a run says why it is not the first,
and rath doctor what would help. What a level cannot enforce is refused. A run is resumed
at the level that it has or not at all; rath rerun chooses anew.

In the first two, and in docker, there is no network unless you say --network allow. The
home is empty: name what commands need of yours, as tools that are installed there (~/go,
~/.nvm), with --read-only or --writable. Your keys, the records and the other sandboxes in
the OpenRath home stay hidden. --max-memory, --max-cpu, --max-processes and --max-file-size
limit what commands use up.

A home that the working directory brings with it (./.openrath) is somebody else's word:
what its sandboxes allow is said in a warning, and they get no variables of yours.`,
	}
	cmd.AddCommand(a.sandboxesCreateCommand(), a.sandboxesLsCommand(), a.sandboxesShowCommand(), a.sandboxesRmCommand(), a.sandboxesGCCommand())
	return cmd
}

// creation are the flags of a sandbox that is created.
type creation struct {
	url, dir string
	lifetime time.Duration
	rules    rules
}

func (a *app) sandboxesCreateCommand() *cobra.Command {
	var f creation
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a sandbox that stays",
		Long: `Make a sandbox that stays until it is removed. A local one has a folder of its own in the
OpenRath home, unless a DIR is named: that stays when the sandbox is removed. One that is
made from an image has a workspace of its own, unless a folder is bound with --dir.

The rules that it is made with hold for every run in it. A run in a local sandbox may
have others, with the same flags.`,
		Example: "  rath sandboxes create desk\n  rath sandboxes create web --sandbox local:site --network allow\n  rath run --sandbox @desk \"Write a haiku to haiku.txt\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return usageOf(cmd, err)
			}
			return a.createSandbox(cmd.Context(), args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.url, "sandbox", "local", "what it is: local, local:DIR, docker:IMAGE or opensandbox:IMAGE")
	cmd.Flags().StringVar(&f.dir, "dir", "", "the folder of this machine that is the workspace of an image's sandbox")
	cmd.Flags().DurationVar(&f.lifetime, "lifetime", 0, "how long opensandbox keeps it while nobody uses it (0: until it is removed)")
	f.rules.flags(cmd)
	return cmd
}

func (f creation) check() error {
	scheme, _, _ := strings.Cut(f.url, ":")
	_, isRemote := remotes[scheme]
	switch {
	case !isRemote && scheme != "local":
		return fmt.Errorf("--sandbox %q: no sandbox of that kind can be kept", f.url)
	case !isRemote && (f.dir != "" || f.lifetime != 0):
		return errors.New("--dir and --lifetime are for sandboxes of images; a local one is named by local:DIR")
	case f.lifetime < 0:
		return fmt.Errorf("--lifetime %v is less than nothing", f.lifetime)
	}
	return f.rules.check()
}

func (a *app) createSandbox(ctx context.Context, name string, f creation) error {
	home, c, err := a.home()
	if err != nil {
		return err
	}
	if err := registryOf(home).CheckName(name); err != nil { // before there is anything to clear away
		return usage(err)
	}
	e, err := f.create(ctx, name, opening{&place{}, "", c, home})
	if err != nil {
		return storeFailure(err)
	}
	k := keptOf(e)
	if a.asJSON {
		return a.writeJSON(k)
	}
	_, err = fmt.Fprintf(a.out, "created %s: %s\n", k.Name, printable(k.where()))
	return err
}

func (f creation) create(ctx context.Context, name string, o opening) (e registry.Entry, err error) {
	var scheme string
	scheme, o.name, _ = strings.Cut(f.url, ":")
	if scheme == "local" {
		if o.Policy, err = f.rules.over(sandbox.Policy{}); err != nil {
			return e, err
		}
		return createLocal(ctx, name, o)
	}
	if o.Policy, err = f.rules.elsewhere(sandbox.Policy{}); err == nil && f.dir != "" {
		o.Dir, err = filepath.Abs(f.dir)
	}
	if err != nil {
		return e, err
	}
	return createRemote(ctx, scheme, o, &keeping{name, f.lifetime})
}

// createLocal sees that the rules can be kept. The level is chosen anew for each run.
func createLocal(ctx context.Context, name string, o opening) (e registry.Entry, err error) {
	e = registry.Entry{Name: name, Backend: "local", Policy: o.Policy}
	if o.name != "" {
		if e.Spec.WorkingDir, err = filepath.Abs(o.name); err != nil {
			return e, err
		}
	}
	reg := registryOf(o.home)
	if e, err = reg.Add(e); err != nil { // first, for then it has a folder
		return e, err
	}
	o.name = e.Spec.WorkingDir
	sb, err := openLocal(ctx, o)
	if err == nil {
		err = sb.Close()
	}
	if err != nil {
		err = errors.Join(err, reg.Remove(e))
	}
	return e, err
}

// kept is an entry of the registry as it is shown.
type kept struct {
	ID       string          `json:"id"`
	Name     string          `json:"name,omitempty"`
	Backend  string          `json:"backend"`
	Remote   string          `json:"remote,omitempty"`
	Spec     sandbox.Spec    `json:"spec"`
	Owned    bool            `json:"owned"` // the folder goes with it
	Level    string          `json:"level,omitempty"`
	Network  sandbox.Network `json:"network,omitempty"`
	ReadOnly []string        `json:"read_only,omitempty"`
	Writable []string        `json:"writable,omitempty"`
	Env      []string        `json:"env,omitempty"` // names of variables that commands inherit
	Limits   keptLimits      `json:"limits,omitzero"`
	Created  time.Time       `json:"created"`
	Used     time.Time       `json:"used"`
	Problem  string          `json:"problem,omitempty"`
}

// keptLimits are named as in the registry's files.
type keptLimits struct {
	CPU       float64 `json:"cpu_seconds,omitzero"`
	Memory    int64   `json:"memory_bytes,omitzero"`
	FileSize  int64   `json:"file_size_bytes,omitzero"`
	Processes int     `json:"processes,omitzero"`
	OpenFiles int     `json:"open_files,omitzero"`
}

func limitsOf(l sandbox.Limits) keptLimits {
	return keptLimits{CPU: l.CPU.Seconds(), Memory: l.Memory, FileSize: l.FileSize, Processes: l.Processes, OpenFiles: l.OpenFiles}
}

// lines are the limits that there are, for people.
func (l keptLimits) lines() (lines [][2]string) {
	for _, limit := range []struct {
		name  string
		is    bool
		value any
	}{
		{"max-cpu", l.CPU != 0, fmt.Sprintf("%gs", l.CPU)}, {"max-memory", l.Memory != 0, (*size)(&l.Memory)},
		{"max-file-size", l.FileSize != 0, (*size)(&l.FileSize)}, {"max-processes", l.Processes != 0, l.Processes},
		{"open-files", l.OpenFiles != 0, l.OpenFiles},
	} {
		if limit.is {
			lines = append(lines, [2]string{limit.name, fmt.Sprint(limit.value)})
		}
	}
	return lines
}

func keptOf(e registry.Entry) kept {
	k := kept{
		ID: e.ID, Name: e.Name, Backend: e.Backend, Remote: e.Remote, Spec: e.Spec, Owned: e.Owned,
		Level: e.Policy.Level, Network: e.Policy.Network, ReadOnly: e.Policy.ReadOnly, Writable: e.Policy.Writable,
		Env: e.Policy.Env, Limits: limitsOf(e.Policy.Limits), Created: e.Created, Used: e.Used,
	}
	if e.Problem != nil {
		k.Problem = e.Problem.Error()
	}
	return k
}

func (k kept) cells() []string {
	return []string{cmp.Or(k.Name, "-"), k.ID, k.Backend, k.where(), when(k.Used, time.DateTime)}
}

// where is what a sandbox is, for people.
func (k kept) where() string {
	switch {
	case k.Problem != "":
		return "unreadable: " + oneLine(k.Problem, 200)
	case k.Remote == "":
		return k.Spec.WorkingDir
	}
	return strings.TrimSpace(k.Spec.Image + " " + k.Remote)
}

func (a *app) sandboxesLsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the sandboxes that stay, the oldest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			home, _, err := a.home()
			if err != nil {
				return err
			}
			all, err := registryOf(home).List()
			if err != nil {
				return err
			}
			rows := make([]kept, len(all))
			for i, e := range all {
				rows[i] = keptOf(e)
			}
			return list(a, rows, "NAME", "ID", "BACKEND", "WHERE", "USED")
		},
	}
}

const keptHelp = "The sandbox is named by its name, its id, or the beginning of that."

func (a *app) sandboxesShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a sandbox", Long: "Show a sandbox. " + keptHelp, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			home, _, err := a.home()
			if err != nil {
				return err
			}
			e, err := registryOf(home).Find(args[0])
			if err != nil {
				return sandboxHint(err)
			}
			return a.printKept(keptOf(e))
		},
	}
}

func (a *app) printKept(k kept) error {
	if a.asJSON {
		return a.writeJSON(k)
	}
	lines := [][2]string{
		{"name", cmp.Or(k.Name, "-")}, {"id", k.ID}, {"backend", k.Backend}, {"remote", k.Remote},
		{"image", k.Spec.Image}, {"folder", k.Spec.WorkingDir}, {"level", k.Level}, {"network", string(k.Network)},
		{"read-only", strings.Join(k.ReadOnly, " ")}, {"writable", strings.Join(k.Writable, " ")},
		{"env", strings.Join(k.Env, " ")},
	}
	lines = append(lines, k.Limits.lines()...)
	lines = append(lines, [2]string{"created", when(k.Created, time.RFC3339)}, [2]string{"used", when(k.Used, time.RFC3339)})
	for _, line := range lines {
		if line[1] != "" {
			fmt.Fprintf(a.out, "%-13s %s\n", line[0], printable(line[1]))
		}
	}
	return nil
}

func (a *app) sandboxesRmCommand() *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use: "rm NAME", Short: "End a sandbox and forget it, with all that is in it",
		Long: "End a sandbox and forget it, with all that is in it. A folder of yours stays as it is.\n\n" + keptHelp,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.removeSandbox(cmd.Context(), args[0], forget)
		},
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "only forget it: do not ask the server that keeps it, which may be gone")
	return cmd
}

func (a *app) removeSandbox(ctx context.Context, name string, forget bool) error {
	home, _, err := a.home()
	if err != nil {
		return err
	}
	reg := registryOf(home)
	e, err := reg.Find(name)
	if err != nil && !errors.Is(err, registry.ErrDamaged) {
		return sandboxHint(err)
	}
	if kind, isRemote := remotes[e.Backend]; isRemote && e.Remote != "" && !forget {
		if err := kind.end(ctx, e.Remote); err != nil {
			return fmt.Errorf("end sandbox %s: %w", name, err)
		}
	}
	if err := reg.Remove(e); err != nil {
		return storeFailure(err)
	}
	if a.asJSON {
		return a.writeJSON(keptOf(e))
	}
	text := "removed " + cmp.Or(e.Name, e.ID)
	if e.Spec.WorkingDir != "" && !e.Owned {
		text += ": " + e.Spec.WorkingDir + " stays as it is"
	}
	_, err = fmt.Fprintln(a.out, printable(text))
	return err
}

// leftover is something that was cleared away.
type leftover struct {
	Kind string `json:"kind"` // fork, folder, container, sandbox
	Name string `json:"name"`
	Kept string `json:"kept,omitempty"` // the name of the snapshot that has what was in it
	Left string `json:"left,omitempty"` // why something of it is still there
}

func (l leftover) cells() []string {
	text := "removed"
	switch {
	case l.Left != "":
		text = "not removed: " + l.Left
	case l.Kept != "":
		text = "removed; its files are kept as " + l.Kept
	}
	return []string{l.Kind, l.Name, text}
}

func (a *app) sandboxesGCCommand() *cobra.Command {
	return &cobra.Command{
		Use: "gc", Short: "Clear away what sandboxes have left whose program was killed",
		Long: `Clear away what sandboxes have left whose program was killed: forks of workspaces with
what is mounted there, temporary folders, containers and remote sandboxes. What changed
in a fork is kept as a snapshot. Sandboxes that have a name stay.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			home, _, err := a.home()
			if err != nil {
				return err
			}
			found, err := a.collectSandboxes(cmd.Context(), home)
			return errors.Join(list(a, found), err)
		},
	}
}

// collectSandboxes clears away. What fails in one kind does not keep it from the others.
func (a *app) collectSandboxes(ctx context.Context, home string) (all []leftover, err error) {
	p := a.progress("sandboxes gc", 0)
	defer p.stop()
	for _, collect := range collectors {
		found, failed := collect(ctx, home)
		all, err = append(all, found...), errors.Join(err, failed)
	}
	return all, err
}

// collectors find what is left of each kind of sandbox.
var collectors = []func(ctx context.Context, home string) ([]leftover, error){
	collectForks, collectFolders, collectRemotes,
}

// forever is longer than any snapshot is old: which of them go is the business of rath gc.
const forever = 100 * 365 * 24 * time.Hour

func collectForks(ctx context.Context, home string) (found []leftover, err error) {
	if _, err := os.Stat(filepath.Join(home, workspaceDir)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	st, err := openWorkspaces(ctx, home, nil)
	if err != nil {
		return nil, err
	}
	c, err := st.GC(ctx, &workspace.GCOptions{Grace: forever})
	if c == nil {
		return nil, err
	}
	for _, o := range c.Orphans {
		l := leftover{Kind: "fork", Name: o.Dir, Kept: o.Kept}
		if o.Err != nil {
			l.Left = o.Err.Error()
		}
		found = append(found, l)
	}
	return found, err
}

func collectFolders(context.Context, string) (found []leftover, err error) {
	for _, dir := range local.Sweep() {
		found = append(found, leftover{Kind: "folder", Name: dir})
	}
	return found, nil
}

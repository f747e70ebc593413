package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// git runs the program git on the store, and on nothing else.
type git struct {
	dir, program string
	path         string       // where it finds programs
	checked      func() error // that the version will do; asked once
}

// minor is the least version 2.x that has all that is used.
const minor = 39

func newGit(dir string, untrusted []string) (*git, error) {
	g := &git{dir: dir}
	g.checked = sync.OnceValue(g.check)
	var folders []string
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(folder) || below(folder, untrusted) {
			continue
		}
		folders = append(folders, folder)
		if program, err := exec.LookPath(filepath.Join(folder, "git")); err == nil && g.program == "" && !below(program, untrusted) {
			g.program = program
		}
	}
	if g.program == "" {
		return nil, ErrNoGit
	}
	g.path = strings.Join(folders, string(filepath.ListSeparator))
	return g, nil
}

// below reports whether a file, or what it is a link to, is in one of the folders.
func below(name string, folders []string) bool {
	for _, folder := range folders {
		for _, n := range []string{name, real(name)} {
			for _, f := range []string{folder, real(folder)} {
				if rel, err := filepath.Rel(f, n); err == nil && filepath.IsLocal(rel) {
					return true
				}
			}
		}
	}
	return false
}

// real is a name without symbolic links, if there is such a file.
func real(name string) string {
	if r, err := filepath.EvalSymlinks(name); err == nil {
		return r
	}
	return name
}

func (g *git) check() error {
	cmd := exec.Command(g.program, "--version")
	cmd.Env = g.environment()
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("ask git for its version: %w", err)
	}
	var major, second int
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &second); err != nil {
		return fmt.Errorf("%w: %q", ErrOldGit, out)
	}
	if major < 2 || major == 2 && second < minor {
		return fmt.Errorf("%w: %d.%d", ErrOldGit, major, second)
	}
	return nil
}

// environment is all that git sees of it: no configuration but the store's, no home, no
// GIT_ variable of the user's, no prompt, no network.
func (g *git) environment(more ...string) []string {
	env := []string{
		"PATH=" + g.path,
		"GIT_DIR=" + g.dir,
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_ATTR_NOSYSTEM=1",
		"GIT_NO_REPLACE_OBJECTS=1",
		"GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0",
		"GIT_ALLOW_PROTOCOL=none",
		"LC_ALL=C",
	}
	for _, key := range []string{"SYSTEMROOT", "TMPDIR", "TMP", "TEMP"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return append(env, more...)
}

// command prepares a run of git that dies with the context.
func (g *git) command(ctx context.Context, args ...string) *exec.Cmd {
	guard := []string{
		"-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.fsmonitor=false",
		"-c", "core.attributesFile=" + os.DevNull,
		"-c", "core.excludesFile=" + os.DevNull,
		"-c", "safe.directory=" + g.dir,
		"-c", "gc.auto=0",
		"-c", "maintenance.auto=false",
		"-c", "merge.directoryRenames=false",
	}
	cmd := exec.CommandContext(ctx, g.program, append(guard, args...)...)
	cmd.Dir = g.dir
	cmd.Env = g.environment()
	cmd.WaitDelay = time.Second
	return cmd
}

// output runs git and returns what it writes.
func (g *git) output(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	err := g.run(ctx, g.command(ctx, args...), nil, &out)
	return out.Bytes(), err
}

// run runs a command of git's, and names what it did if it fails.
func (g *git) run(ctx context.Context, cmd *exec.Cmd, in io.Reader, out io.Writer) error {
	if err := g.checked(); err != nil {
		return err
	}
	said := &head{max: 4 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, said
	return g.explain(ctx, cmd, said, cmd.Run())
}

// explain turns the end of a command into an error that says why.
func (g *git) explain(ctx context.Context, cmd *exec.Cmd, said *head, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	for _, full := range []string{"No space left on device", "Out of diskspace"} {
		if strings.Contains(said.String(), full) {
			err = errors.Join(syscall.ENOSPC, err)
		}
	}
	return &gitError{verb(cmd.Args), strings.TrimSpace(said.String()), err}
}

// verb is git's subcommand: the first argument that is no option.
func verb(args []string) string {
	for i := 1; i < len(args); i++ {
		if args[i] != "-c" {
			return args[i]
		}
		i++
	}
	return ""
}

// gitError is a run of git that failed.
type gitError struct {
	verb, said string
	err        error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.verb, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.verb, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// exitCode is what git ended with, -1 if it did not exit by itself.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// head keeps the beginning of what is written to it.
type head struct {
	bytes.Buffer
	max int
}

func (h *head) Write(p []byte) (int, error) {
	if room := h.max - h.Len(); room > 0 {
		h.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

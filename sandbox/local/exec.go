package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/output"
)

// Every process of a command carries these variables, by which what has left the
// command's process group can still be found.
const (
	markSandbox = "RATH_SANDBOX_ID"
	markCommand = "RATH_COMMAND_ID"
)

// lingering is how long output is read on after a command's end, when something that it
// left in the background still holds its streams.
const lingering = 250 * time.Millisecond

var errTimeout = errors.New("the command's time is up")

func (b *box) Exec(ctx context.Context, c driver.Command) (driver.Result, error) {
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	cmd, mark, err := b.command(ctx, c)
	if err != nil {
		return driver.Result{}, err
	}
	stdout, stderr := output.NewCapped(c.MaxOutput), output.NewCapped(c.MaxOutput)
	cmd.Stdin = c.Stdin
	both, err := outlets(cmd, output.Tee(stdout, c.Stdout), output.Tee(stderr, c.Stderr))
	if err != nil {
		return driver.Result{}, err
	}
	begin := time.Now()
	err = b.run(ctx, cmd, mark, both)
	r := driver.Result{
		ExitCode: -1, Stdout: stdout.String(), Stderr: stderr.String(),
		Truncated: stdout.Cut() > 0 || stderr.Cut() > 0, Elapsed: time.Since(begin),
	}
	if cmd.ProcessState != nil {
		r.ExitCode = cmd.ProcessState.ExitCode()
	}
	var exit *exec.ExitError
	switch {
	case context.Cause(ctx) == errTimeout:
		r.TimedOut = true
		return r, nil
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return r, nil
	}
	return r, plain(err)
}

// run runs a command to its end. What it leaves in the background lives on, unless ctx
// ended it.
func (b *box) run(ctx context.Context, cmd *exec.Cmd, mark string, both []*outlet) (err error) {
	defer func() {
		if failed := end(both, lingering); err == nil {
			err = failed
		}
	}()
	if b.policy.Level != driver.LevelBubblewrap { // where names lead nowhere else
		dir, err := b.enter(cmd)
		if err != nil {
			return plain(err)
		}
		defer dir.Close()
	}
	g, err := start(cmd, b.cage, b.counter)
	began(both)
	if err != nil {
		return err
	}
	err = cmd.Wait()
	if ctx.Err() != nil {
		g.kill()
		killMarked(mark) // those that left the group
	}
	b.left.add(g)
	return err
}

// command prepares the process: its own session, so that it has no terminal and its
// whole group can be killed; limits set by the shell that becomes the program.
func (b *box) command(ctx context.Context, c driver.Command) (*exec.Cmd, string, error) {
	dir, err := b.file(c.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("folder %s: %w", c.Dir, err)
	}
	args := b.argv(c)
	mark := fmt.Sprintf("%s=%s-%d", markCommand, b.id, b.ran.Add(1))
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir = filepath.Join(b.dir, dir)
	cmd.Env = append(slices.Concat(b.environment(), b.cage.environ(), c.Env), markSandbox+"="+b.id, mark, "PWD="+b.seen(cmd.Dir))
	cmd.WaitDelay = lingering
	own(cmd)
	return cmd, mark, nil
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/containerd/errdefs"
	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/output"
	"github.com/openrath-go/rath/sandbox/internal/shell"
)

// Every process of a command carries these variables, by which it is found when the
// command is to end.
const (
	markHandle  = "RATH_SANDBOX_ID"
	markCommand = "RATH_COMMAND_ID"
)

const (
	// lingering is how long output is read on after a command's end, when something that it
	// left in the background still holds its streams.
	lingering = 250 * time.Millisecond
	// endTime bounds how long the end of a command's processes takes.
	endTime = 15 * time.Second
)

var errTimeout = errors.New("the command's time is up")

func (b *box) Exec(ctx context.Context, c driver.Command) (driver.Result, error) {
	for _, text := range slices.Concat(c.Args, c.Env, []string{c.Shell}) {
		if !utf8.ValidString(text) {
			return driver.Result{}, fmt.Errorf("%w: %q is no UTF-8, and the engine takes nothing else", driver.ErrUnsupported, text)
		}
	}
	dir, err := b.folder(ctx, c.Dir)
	if err != nil {
		return driver.Result{}, fmt.Errorf("folder %s: %w", c.Dir, err)
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	stdout, stderr := output.NewCapped(c.MaxOutput), output.NewCapped(c.MaxOutput)
	begin := time.Now()
	code, err := b.run(ctx, process{
		args: b.argv(c, dir), env: slices.Concat(b.environment(), c.Env),
		stdin: c.Stdin, stdout: output.Tee(stdout, c.Stdout), stderr: output.Tee(stderr, c.Stderr),
	})
	r := driver.Result{
		ExitCode: code, Stdout: stdout.String(), Stderr: stderr.String(),
		Truncated: stdout.Cut() > 0 || stderr.Cut() > 0, Elapsed: time.Since(begin),
	}
	if err != nil && context.Cause(ctx) == errTimeout && errors.Is(err, errTimeout) {
		r.TimedOut = true
		err = nil
	}
	return r, err
}

// argv has a shell go to the folder and set the limits, and then become the program or go
// on with the line: so no process of the command ever runs without them.
func (b *box) argv(c driver.Command, dir string) []string {
	limits := b.Rules.Limits
	limits.Processes = 0 // the container's
	prologue := "cd -- " + plain(shell.Quote(dir)) + " || exit 126\n" + shell.Limits(limits)
	if c.Shell != "" {
		return []string{"/bin/sh", "-c", prologue + c.Shell}
	}
	return append([]string{"/bin/sh", "-c", prologue + `exec "$@"`, "sh"}, c.Args...)
}

// environment is what commands inherit from this program.
func (b *box) environment() (env []string) {
	for _, name := range b.Rules.Env {
		if value, ok := b.getenv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// process is one to run in the container.
type process struct {
	args, env      []string
	stdin          io.Reader // nil: empty
	stdout, stderr io.Writer
}

// run runs a process to its end, or to that of ctx, with which its whole session ends.
// What it leaves in the background otherwise lives on.
func (b *box) run(ctx context.Context, p process) (code int, err error) {
	mark := markCommand + "=" + uuid.NewString()
	env := append(slices.Clip(p.env), markHandle+"="+b.handle, mark)
	conn, id, err := b.begin(ctx, p.args, env, p.stdin != nil)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return -1, err
	}
	s := newStream(conn, p)
	defer s.close()
	code, err = b.await(ctx, id, s)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
		if kerr := b.endSurely(mark); kerr != nil {
			err = fmt.Errorf("%w; its processes may live on: %w", err, kerr)
		}
		s.linger()
		return -1, err
	}
	return code, err
}

// begin starts a process in the container, which is started before that if it has ended.
func (b *box) begin(ctx context.Context, args, env []string, stdin bool) (client.HijackedResponse, string, error) {
	if b.slipped() {
		b.revive(ctx)
	}
	conn, id, err := b.tryBegin(ctx, args, env, stdin)
	if err != nil && ctx.Err() == nil && b.revive(ctx) {
		return b.tryBegin(ctx, args, env, stdin)
	}
	return conn, id, err
}

// tryBegin heeds ctx only until the process is about to start: whether it runs must be
// known.
func (b *box) tryBegin(ctx context.Context, args, env []string, stdin bool) (client.HijackedResponse, string, error) {
	made, err := b.engine.ExecCreate(ctx, b.container, client.ExecCreateOptions{
		User: b.User, WorkingDir: "/", Cmd: args, Env: env,
		AttachStdin: stdin, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return client.HijackedResponse{}, "", explain(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), silence)
	defer cancel()
	attached, err := b.engine.ExecAttach(ctx, made.ID, client.ExecAttachOptions{})
	if err != nil {
		return client.HijackedResponse{}, "", startError(err)
	}
	return attached.HijackedResponse, made.ID, nil
}

// await waits until a process has ended, and returns its code. Its streams may be open
// longer, or not so long.
func (b *box) await(ctx context.Context, id string, s *stream) (int, error) {
	const slowest = 200 * time.Millisecond
	copied := s.copied
	for pause := slowest / 2; ; pause = min(2*pause, slowest) {
		select {
		case <-ctx.Done():
			return -1, context.Cause(ctx)
		case <-copied:
			copied, pause = nil, time.Millisecond/2
		case <-time.After(pause):
		}
		found, err := b.engine.ExecInspect(ctx, id, client.ExecInspectOptions{})
		if err != nil {
			return -1, explain(err)
		}
		if !found.Running {
			s.linger()
			return found.ExitCode, nil
		}
	}
}

// end ends all processes that bear a mark.
func (b *box) end(ctx context.Context, mark string) error {
	_, err := b.ask(ctx, "end_marked", mark)
	return err
}

// endSurely ends all processes that bear a mark. Where it cannot, because a shell to do it
// with cannot be had, it starts the container anew.
func (b *box) endSurely(mark string) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := b.end(ctx, mark)
	if err == nil {
		return nil
	}
	restarting, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if rerr := b.restart(restarting); rerr != nil {
		return errors.Join(err, rerr)
	}
	return nil
}

// restart ends all that runs in the container.
func (b *box) restart(ctx context.Context) error {
	b.restarting.Lock()
	defer b.restarting.Unlock()
	return b.startAgain(ctx)
}

// startAgain starts the container, and stops it before that if it runs.
func (b *box) startAgain(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the wait
	stopped := b.engine.ContainerWait(ctx, b.container, client.ContainerWaitOptions{})
	_, err := b.engine.ContainerKill(ctx, b.container, client.ContainerKillOptions{})
	if err != nil && !errdefs.IsConflict(err) { // which says that it does not run
		return explain(err)
	}
	select {
	case <-stopped.Result:
	case err := <-stopped.Error:
		return explain(err)
	}
	return b.start(ctx)
}

// revive starts the container if it has ended or is about to, because commands or a lost
// connection have brought that about. It reports whether it did.
func (b *box) revive(ctx context.Context) bool {
	b.restarting.Lock()
	defer b.restarting.Unlock()
	if !b.slipped() {
		found, err := inspect(ctx, b.engine, b.container)
		if err != nil || found.State.Running {
			return false
		}
	}
	return b.startAgain(ctx) == nil
}

// stream carries what a process reads and writes.
type stream struct {
	conn   client.HijackedResponse
	copied chan struct{} // closed when there is no more output
	fed    chan struct{} // closed when there is no more input
}

func newStream(conn client.HijackedResponse, p process) *stream {
	s := &stream{conn, make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(s.copied)
		_, _ = stdcopy.StdCopy(p.stdout, p.stderr, conn.Reader) // how the process ended is asked for
	}()
	go func() {
		defer close(s.fed)
		if p.stdin == nil {
			return
		}
		_, _ = io.Copy(conn.Conn, p.stdin) // it may end without reading all
		_ = conn.CloseWrite()
	}()
	return s
}

// linger waits for the last of the output, but not for ever.
func (s *stream) linger() {
	select {
	case <-s.copied:
	case <-time.After(lingering):
	}
}

// close ends both directions. Only a reader that does not return holds on to the input.
func (s *stream) close() {
	s.conn.Close()
	<-s.copied
	select {
	case <-s.fed:
	case <-time.After(lingering):
	}
}

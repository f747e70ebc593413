package mcptool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/sandbox"
)

// How long a server's program may take for each step of its end: after its input is
// closed, and after it was asked to terminate; and how long its output is read on when it
// has ended.
const (
	patience  = 2 * time.Second
	lingering = 250 * time.Millisecond
)

// process is a running server and its standard streams.
type process struct {
	in     *outbox
	out    *os.File
	stderr tail

	group atomic.Pointer[exec.Cmd] // what can be asked to terminate; nil: nothing yet, or in a sandbox
	kill  context.CancelFunc
	done  chan struct{} // closed when it has ended
	err   error         // how; nil: without complaint. Read it after done
}

// program runs a server to its end, or that of ctx, with which all its processes end.
type program func(ctx context.Context, stdin, stdout *os.File, p *process) error

// launch starts a program. A program that cannot be started has ended at once.
func launch(run program) (*process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, childIn.Close(), in.Close())
	}
	ctx, kill := context.WithCancel(context.Background())
	p := &process{in: newOutbox(in), out: out, kill: kill, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer kill()
		p.err = run(ctx, childIn, childOut, p)
		_ = childIn.Close()
		_ = childOut.Close()
		_ = out.SetReadDeadline(time.Now().Add(lingering)) // something that it left may hold the other end
	}()
	return p, nil
}

// transport speaks with the process.
func (p *process) transport() mcp.Transport {
	return &mcp.IOTransport{Reader: p.out, Writer: p.in, MaxLineLength: messageLimit}
}

// end ends the process as the protocol wants it: its input is closed, then it is asked to
// terminate, then it is killed.
func (p *process) end() {
	_ = p.in.Close()
	defer p.out.Close()
	for _, step := range []func(){p.terminate, p.kill} {
		select {
		case <-p.done:
			return
		case <-time.After(patience):
			step()
		}
	}
	<-p.done
}

// cut ends the process at once.
func (p *process) cut() {
	p.kill()
	_ = p.in.Close()
	_ = p.out.Close()
}

func (p *process) terminate() {
	if cmd := p.group.Load(); cmd != nil {
		terminateGroup(cmd)
	}
}

// beside runs a server's program beside this one.
func beside(s *Server) program {
	return func(ctx context.Context, stdin, stdout *os.File, p *process) error {
		cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
		cmd.Env, cmd.Dir = s.environment(), s.Dir
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &p.stderr
		cmd.WaitDelay = lingering
		own(cmd)
		leash, err := start(cmd)
		if err != nil {
			return &startError{err}
		}
		defer leash.Close()
		defer killGroup(cmd)
		p.group.Store(cmd)
		err = cmd.Wait()
		if errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		return err
	}
}

// within runs a server's program in a sandbox.
func within(sb *sandbox.Sandbox, s *Server) program {
	return func(ctx context.Context, stdin, stdout *os.File, p *process) error {
		r, err := sb.Exec(ctx, sandbox.Command{
			Args: s.Command, Dir: s.Dir, Env: s.own(), Stdin: stdin, Stdout: stdout, Stderr: &p.stderr, MaxOutput: 1,
		})
		if err == nil && r.ExitCode != 0 {
			err = fmt.Errorf("exit status %d", r.ExitCode)
		}
		return err
	}
}

// outbox writes to a pipe in the background, so that a program that does not read cannot
// hold up its callers: their time may be up.
type outbox struct {
	pipe  *os.File
	mu    sync.Mutex
	ready *sync.Cond
	data  []byte
	err   error // why nothing more can be written
}

var errBacklog = errors.New("the program does not read what it is sent")

func newOutbox(pipe *os.File) *outbox {
	o := &outbox{pipe: pipe}
	o.ready = sync.NewCond(&o.mu)
	go o.run()
	return o
}

func (o *outbox) run() {
	for {
		data, ok := o.take()
		if !ok {
			return
		}
		if _, err := o.pipe.Write(data); err != nil {
			o.fail(err)
		}
	}
}

func (o *outbox) take() ([]byte, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.data) == 0 && o.err == nil {
		o.ready.Wait()
	}
	data := o.data
	o.data = nil
	return data, o.err == nil
}

func (o *outbox) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.err != nil:
		return 0, o.err
	case len(o.data)+len(p) > backlogLimit:
		return 0, errBacklog
	}
	o.data = append(o.data, p...)
	o.ready.Signal()
	return len(p), nil
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
	}
	o.ready.Signal()
}

// Close ends the program's input. What it has not read by then it never will.
func (o *outbox) Close() error {
	o.fail(os.ErrClosed)
	return o.pipe.Close()
}

// startError is why a program was not started.
type startError struct{ error }

func (e *startError) Unwrap() error { return e.error }

// explain adds to an error how the process is. Where it was not started, that is all there
// is to say.
func (p *process) explain(err error) error {
	select {
	case <-p.done:
	default:
		return fmt.Errorf("%w (its program still runs)", err)
	}
	switch {
	case errors.As(p.err, new(*startError)):
		return p.err
	case p.err == nil:
		return fmt.Errorf("%w (its program has ended)", err)
	}
	return fmt.Errorf("%w (its program has ended: %w)", err, p.err)
}

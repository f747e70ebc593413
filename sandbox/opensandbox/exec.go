package opensandbox

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
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
	// killTime bounds how long the end of a command takes that is to end.
	killTime = 10 * time.Second
	// lagTime is how long after that its last output is waited for.
	lagTime = 2 * time.Second
	// serverGrace is how much later than here a command's time is up for the daemon, which
	// ends it if this program cannot.
	serverGrace = 15 * time.Second
	// maxLine is how long a line for the shell may be; the kernel allows a bit more.
	maxLine = 64 << 10
	// temporary begins the names of our files in a sandbox.
	temporary = "/tmp/.rath-"
)

var (
	errTimeout = errors.New("the command's time is up")
	errKilled  = errors.New("the command was killed")
)

// run is a command on its way.
type run struct {
	b       *box
	mark    string
	request Run
	stdout  *capture
	stderr  *capture
	leaves  []string // files in the sandbox that are to be removed
	id      chan string
	done    chan struct{} // closed when the stream has ended
	drop    context.CancelFunc
}

func (b *box) Exec(ctx context.Context, c driver.Command) (driver.Result, error) {
	begin := time.Now()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	stdout, stderr := output.NewCapped(c.MaxOutput), output.NewCapped(c.MaxOutput)
	r := b.newRun(output.Tee(stdout, c.Stdout), output.Tee(stderr, c.Stderr))
	defer r.clean(ctx)
	if err := r.prepare(ctx, c); err != nil {
		return driver.Result{}, b.explain(ctx, err)
	}
	code, err := r.follow(ctx, c.Stdout != nil || c.Stderr != nil)
	result := driver.Result{
		ExitCode: code, Stdout: stdout.String(), Stderr: stderr.String(),
		Truncated: stdout.Cut()+stderr.Cut() > 0, Elapsed: time.Since(begin),
	}
	switch {
	case context.Cause(ctx) == errTimeout:
		result.TimedOut = true
		return result, nil
	case ctx.Err() != nil:
		return result, context.Cause(ctx)
	case err == nil && code == -1:
		err = b.gone(ctx, errKilled) // or was it the sandbox that ended?
	}
	return result, b.explain(ctx, err)
}

func (b *box) newRun(stdout, stderr io.Writer) *run {
	mark := uuid.NewString()
	file := temporary + mark
	return &run{
		b: b, mark: mark, id: make(chan string, 1), done: make(chan struct{}),
		stdout: &capture{file: file + "-out", w: stdout}, stderr: &capture{file: file + "-err", w: stderr},
	}
}

// finishScript comes after a command: it tells how long its output is, and if that is
// short, what it is. The stream itself would not do: it has lines of text.
const finishScript = `; rath=$?; out=$(wc -c <%[1]s) && err=$(wc -c <%[2]s) && echo $out $err && if [ $((out + err)) -le 65536 ] && command -v base64 >/dev/null; then
base64 %[1]s; echo .; base64 %[2]s; echo .; fi; exit $rath`

// prepare puts together what the daemon is asked for.
func (r *run) prepare(ctx context.Context, c driver.Command) error {
	dir, err := r.b.folder(ctx, c.Dir)
	if err != nil {
		return fmt.Errorf("folder %s: %w", c.Dir, err)
	}
	r.request = Run{Dir: dir, Env: map[string]string{markHandle: r.b.handle, markCommand: r.mark}}
	for _, variable := range c.Env {
		name, value, _ := strings.Cut(variable, "=")
		r.request.Env[name] = value
	}
	if c.Timeout > 0 {
		r.request.Timeout = (c.Timeout + serverGrace).Milliseconds()
	}
	line, err := r.line(ctx, c)
	if err != nil {
		return err
	}
	input := "/dev/null"
	if c.Stdin != nil {
		if input, err = r.upload(ctx, "in", c.Stdin); err != nil {
			return fmt.Errorf("hand over the standard input: %w", err)
		}
	}
	r.leaves = append(r.leaves, r.stdout.file, r.stderr.file)
	r.request.Command = fmt.Sprintf("%s <%s >%s 2>%s", line, input, r.stdout.file, r.stderr.file) +
		fmt.Sprintf(finishScript, r.stdout.file, r.stderr.file)
	return nil
}

// line is the command in a shell of its own, so that whatever it does, its end is told.
func (r *run) line(ctx context.Context, c driver.Command) (string, error) {
	script, words := shell.Limits(r.b.policy.Limits)+c.Shell, ""
	if len(c.Args) > 0 {
		script, words = shell.Limits(r.b.policy.Limits)+`exec "$@"`, " sh "+shell.Words(c.Args...)
	}
	if len(script) <= maxLine {
		return "sh -c " + shell.Quote(script) + words, nil
	}
	file, err := r.upload(ctx, "line", strings.NewReader(script))
	if err != nil {
		return "", fmt.Errorf("hand over a long line: %w", err)
	}
	return "sh " + file + words, nil
}

// upload puts something beside the workspace, for as long as the command runs.
func (r *run) upload(ctx context.Context, what string, content io.Reader) (string, error) {
	file := temporary + r.mark + "-" + what
	r.leaves = append(r.leaves, file)
	return file, r.b.execd.Upload(ctx, file, 0o600, content)
}

// clean removes our files.
func (r *run) clean(ctx context.Context) {
	if len(r.leaves) > 0 {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
		defer cancel()
		_ = r.b.execd.Remove(ctx, r.leaves...)
	}
}

// follow runs the command to its end, or has it killed when ctx ends first, and returns
// its exit code.
func (r *run) follow(ctx context.Context, live bool) (int, error) {
	stream, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	r.drop = drop
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		r.kill(ctx)
	})
	var watch sync.WaitGroup
	if live {
		watch.Go(func() { r.watch(stream) })
	}
	var told, complaints []string
	last, err := r.b.execd.Run(stream, r.request, func(e Event) {
		switch e.Type {
		case "init":
			r.id <- e.Text
		case "stdout":
			told = append(told, e.Text)
		case "stderr":
			complaints = append(complaints, strings.TrimSpace(e.Text))
		}
	})
	close(r.done)
	watch.Wait()
	if stopped := stop(); !stopped {
		<-killed
	} else if err == nil {
		err = r.finish(ctx, last, told, complaints)
	} else {
		r.kill(ctx) // the stream broke, and nobody would know what the command does
	}
	if err != nil || ctx.Err() != nil {
		r.rescue(ctx)
		return -1, err
	}
	return exitCode(last)
}

// capture is one stream of a command's output, a file in the sandbox until it ends.
type capture struct {
	file string
	w    io.Writer
	got  int64
}

func (c *capture) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.got += int64(n)
	return n, err
}

// catchUp reads what a file has got more.
func (c *capture) catchUp(ctx context.Context, e *Execd, size int64) error {
	if size <= c.got {
		return nil
	}
	body, err := e.Download(ctx, c.file, c.got, -1)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(c, body)
	return err
}

// watch hands on what the command puts out while it runs.
func (r *run) watch(ctx context.Context) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		timer := time.NewTimer(wait)
		select {
		case <-r.done:
			timer.Stop()
			return
		case <-timer.C:
			_ = r.catchUp(ctx) // it shows at the end if something is missing
		}
	}
}

func (r *run) catchUp(ctx context.Context) error {
	infos, err := r.b.execd.infos(ctx, r.stdout.file, r.stderr.file)
	for _, c := range []*capture{r.stdout, r.stderr} {
		if err == nil {
			err = c.catchUp(ctx, r.b.execd, infos[c.file].Size)
		}
	}
	return err
}

// rescue gets the output of a command that came to no good end, if it can be had.
func (r *run) rescue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	if r.b.gone(ctx, errKilled) == nil {
		_ = r.catchUp(ctx)
	}
}

// finish reads the rest of the output, from what the finishing script told or from the
// files.
func (r *run) finish(ctx context.Context, last Event, told, complaints []string) error {
	if code, e := exitCode(last); e == nil && code == -1 {
		return r.catchUp(ctx) // it was killed before it could tell
	}
	var out, err int64
	if _, e := fmt.Sscan(strings.Join(told[:min(len(told), 1)], ""), &out, &err); e != nil {
		return fmt.Errorf("the command could not be run: %s", strings.Join(append(told, complaints...), "; "))
	}
	if len(told) == 1 {
		return errors.Join(r.stdout.catchUp(ctx, r.b.execd, out), r.stderr.catchUp(ctx, r.b.execd, err))
	}
	told = told[1:]
	for _, c := range []*capture{r.stdout, r.stderr} {
		end := slices.Index(told, ".")
		data, e := base64.StdEncoding.DecodeString(strings.Join(told[:max(end, 0)], ""))
		if end < 0 || e != nil || int64(len(data)) < c.got {
			return errors.Join(errors.New("the end of the command's output is not what it should be"), e)
		}
		if _, e := c.Write(data[c.got:]); e != nil {
			return e
		}
		told = told[end+1:]
	}
	return nil
}

// kill ends the command and all its children: what is in its process group by the daemon,
// what has left that by its mark. Then it waits for the stream to end.
func (r *run) kill(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	if r.b.gone(ctx, errKilled) != nil {
		r.drop() // nobody would answer, nor remove anything
		r.leaves = nil
		return
	}
	interrupted := make(chan struct{})
	go func() {
		defer close(interrupted)
		select {
		case id := <-r.id:
			_ = r.b.execd.Interrupt(ctx, id)
		default: // it has no id yet, or has ended
		}
	}()
	_ = r.b.sweep(ctx, markCommand+"="+r.mark)
	<-interrupted
	lag := time.NewTimer(lagTime)
	defer lag.Stop()
	select {
	case <-r.done:
	case <-lag.C:
		r.drop()
	}
}

// exitCode reads how a command has ended.
func exitCode(last Event) (int, error) {
	if last.Error == nil {
		return 0, nil
	}
	code, err := strconv.Atoi(last.Error.Value)
	if err != nil {
		return -1, fmt.Errorf("the command could not be run: %s", last.Error.Value)
	}
	return code, nil
}

// scriptError is that a script of ours has failed.
type scriptError struct {
	code   int
	stderr string
}

func (e *scriptError) Error() string {
	if e.stderr == "" {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.stderr
}

// script runs a script of ours in the workspace's place, and returns the lines that it
// puts out.
func (b *box) script(ctx context.Context, script string, args ...string) ([]string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, fmt.Errorf("a command in the sandbox took longer than %v", callTime))
	defer cancel()
	return b.longScript(ctx, script, args...)
}

func (b *box) longScript(ctx context.Context, script string, args ...string) ([]string, error) {
	var out, errs []string
	r := Run{Command: "sh -c " + shell.Quote(script) + " sh " + shell.Words(args...), Dir: "/"}
	last, err := b.execd.Run(ctx, r, func(e Event) {
		switch e.Type {
		case "stdout":
			out = append(out, strings.TrimSuffix(e.Text, "\n"))
		case "stderr":
			errs = append(errs, strings.TrimSuffix(e.Text, "\n"))
		}
	})
	if err != nil {
		return nil, b.explain(ctx, err)
	}
	code, err := exitCode(last)
	if err == nil && code != 0 {
		err = &scriptError{code, strings.Join(errs, "; ")}
	}
	return out, err
}

// sweepScript kills what has a text in its environment, and what that has started in the
// meantime.
const sweepScript = `n=0
while found=$(grep -lsF -e "$1" /proc/[0-9]*/environ 2>/dev/null) || [ -n "$found" ]; do
	for f in $found; do p=${f#/proc/}; kill -9 "${p%/environ}" 2>/dev/null; done
	n=$((n + 1)); [ $n -lt 100 ] || { echo 'some processes cannot be killed' >&2; exit 1; }
done`

// sweep kills every process that has a mark.
func (b *box) sweep(ctx context.Context, mark string) error {
	_, err := b.script(ctx, sweepScript, mark)
	return err
}

// folder returns the absolute name of a folder in the workspace.
func (b *box) folder(ctx context.Context, name string) (string, error) {
	if rel, err := b.relative(name); err != nil || rel == "." {
		return b.root, err
	}
	found, err := b.resolve(ctx, name)
	if err == nil {
		err = found.mustExist()
	}
	if err == nil && found.kind != isDir {
		err = errNotFolder
	}
	return path.Join(b.root, found.name), err
}

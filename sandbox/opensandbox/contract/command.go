package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// tailing is how often the output of a command is looked at.
const tailing = 10 * time.Millisecond

// holding is how long a stream is held after its last event. The real daemon has a second.
const holding = 50 * time.Millisecond

type runRequest struct {
	Command    string            `json:"command"`
	Cwd        string            `json:"cwd"`
	Background bool              `json:"background"`
	Timeout    int64             `json:"timeout"`
	UID        *uint32           `json:"uid"`
	GID        *uint32           `json:"gid"`
	Envs       map[string]string `json:"envs"`
}

// command is one that runs or has run.
type command struct {
	id         string
	content    string
	background bool
	stdout     string // files of this machine
	stderr     string
	cmd        *exec.Cmd
	started    time.Time
	done       chan struct{} // closed when it has ended

	mu       sync.Mutex
	finished time.Time
	code     int
	err      string
}

func (sb *sandbox) postCommand(w http.ResponseWriter, r *http.Request) {
	var in runRequest
	if !decode(w, r, &in) {
		return
	}
	if in.Cwd == "" {
		in.Cwd = "/"
	}
	switch stat, err := os.Stat(sb.host(in.Cwd)); {
	case in.Command == "":
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request, validation error Key: 'RunCommandRequest.Command' Error:Field validation for 'Command' failed on the 'required' tag")
		return
	case in.GID != nil && in.UID == nil:
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request, validation error uid is required when gid is provided")
		return
	case err != nil || !stat.IsDir():
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request, validation error working directory does not exist: %s", in.Cwd)
		return
	}
	e := newEvents(w)
	c, err := sb.start(in)
	if err != nil {
		if c == nil {
			fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error running commands %v", err)
			return
		}
		e.text("init", c.id)
		e.tell(event{Type: "error", Error: &eventError{"CommandExecError", err.Error(), []string{err.Error()}}})
		return
	}
	e.text("init", c.id)
	stop := e.pings()
	defer stop()
	if in.Background {
		e.tell(event{Type: "execution_complete"})
		return
	}
	c.tail(e)
	if c.err == "" {
		e.tell(event{Type: "execution_complete", ExecutionTime: time.Since(c.started).Milliseconds()})
	} else {
		e.tell(event{Type: "error", Error: &eventError{"CommandExecError", strconv.Itoa(c.code), []string{c.err}}})
	}
	select {
	case <-time.After(holding):
	case <-sb.gone:
	case <-r.Context().Done():
		sb.breakPipes()
	}
}

// breakPipes does what happens when a client hangs up while its stream is held: the daemon
// gets a signal from writing to it, and passes it on to all that runs.
func (sb *sandbox) breakPipes() {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	for _, c := range sb.commands {
		c.signal(signalPipe)
	}
}

// start starts a command. That its client goes away does not end it.
func (sb *sandbox) start(in runRequest) (*command, error) {
	c := &command{
		id: strings.ReplaceAll(uuid.NewString(), "-", ""), content: in.Command, background: in.Background,
		started: time.Now(), done: make(chan struct{}),
	}
	shell := "sh"
	if _, err := exec.LookPath("bash"); err == nil {
		shell = "bash"
	}
	c.cmd = sb.inside(in.Cwd, in.Envs, shell, "-c", in.Command)
	c.stdout, c.stderr = filepath.Join(sb.dir, "logs", c.id+".stdout"), filepath.Join(sb.dir, "logs", c.id+".stderr")
	if in.Background {
		c.stderr = c.stdout
	}
	out, err := os.OpenFile(c.stdout, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	errs, err := os.OpenFile(c.stderr, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer errs.Close()
	c.cmd.Stdout, c.cmd.Stderr = out, errs
	return c, sb.launch(c, time.Duration(in.Timeout)*time.Millisecond)
}

// launch starts the process, unless the sandbox is gone.
func (sb *sandbox) launch(c *command, timeout time.Duration) error {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	select {
	case <-sb.gone:
		return errors.New("the sandbox is gone")
	default:
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	sb.commands[c.id] = c
	var timer *time.Timer
	if timeout > 0 {
		timer = time.AfterFunc(timeout, func() { c.signal(signalKill) })
	}
	sb.server.busy.Go(func() {
		err := c.cmd.Wait()
		if timer != nil {
			timer.Stop()
		}
		c.mu.Lock()
		c.finished, c.code = time.Now(), c.cmd.ProcessState.ExitCode()
		if err != nil {
			c.err = err.Error()
		}
		c.mu.Unlock()
		close(c.done)
	})
	return nil
}

// tail tells what a command puts out, until it has ended.
func (c *command) tail(e *events) {
	var wg sync.WaitGroup
	for kind, file := range map[string]string{"stdout": c.stdout, "stderr": c.stderr} {
		wg.Go(func() {
			f, err := os.Open(file)
			if err != nil {
				return
			}
			defer f.Close()
			l := &lineReader{tell: func(text string) { e.text(kind, text) }}
			for over := false; !over; {
				select {
				case <-c.done:
					over = true
				case <-time.After(tailing):
				}
				_, _ = io.Copy(l, f)
			}
			l.flush()
		})
	}
	wg.Wait()
}

// lineReader cuts what is written to it into lines as the daemon does: a carriage return
// ends one, too, and an empty one is told as "\n".
type lineReader struct {
	line  []byte
	wasCR bool
	tell  func(string)
}

func (l *lineReader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		at := bytes.IndexAny(p, "\r\n")
		if at < 0 {
			l.line, l.wasCR = append(l.line, p...), false
			break
		}
		l.line = append(l.line, p[:at]...)
		switch {
		case len(l.line) > 0:
			l.tell(string(l.line))
		case p[at] == '\n' && l.wasCR && at == 0:
		default:
			l.tell("\n")
		}
		l.line, l.wasCR = l.line[:0], p[at] == '\r'
		p = p[at+1:]
	}
	return n, nil
}

func (l *lineReader) flush() {
	if len(l.line) > 0 {
		l.tell(string(l.line))
	}
}

func (sb *sandbox) command(id string) *command {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return sb.commands[id]
}

func (sb *sandbox) deleteCommand(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("id")
	if id == "" {
		fail(w, http.StatusBadRequest, "MISSING_QUERY", "missing query parameter 'id'")
		return
	}
	c := sb.command(id)
	if c == nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error interrupting code context. no such session")
		return
	}
	select {
	case <-c.done:
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error interrupting code context. command session %s is not running", id)
		return
	default:
	}
	c.signal(signalTerm)
	select {
	case <-c.done:
	case <-time.After(3 * time.Second):
		c.signal(signalKill)
	}
}

func (sb *sandbox) commandStatus(w http.ResponseWriter, id string) {
	c := sb.command(id)
	if c == nil {
		fail(w, http.StatusNotFound, "INVALID_REQUEST_BODY", "command not found: %s", id)
		return
	}
	out := map[string]any{"id": c.id, "content": c.content, "running": true, "started_at": c.started}
	select {
	case <-c.done:
		out["running"], out["exit_code"], out["finished_at"] = false, c.code, c.finished
		if c.err != "" {
			out["error"] = c.err
		}
	default:
	}
	reply(w, http.StatusOK, out)
}

// commandLogs goes on from a byte, whatever the description says of lines.
func (sb *sandbox) commandLogs(w http.ResponseWriter, r *http.Request, id string) {
	c := sb.command(id)
	switch {
	case c == nil:
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "command not found: %s", id)
		return
	case !c.background:
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "command %s is not running in background", c.id)
		return
	}
	cursor, _ := strconv.ParseInt(r.URL.Query().Get("cursor"), 10, 64)
	data, err := os.ReadFile(c.stdout)
	if err != nil || cursor < 0 {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "error seek file: %v", err)
		return
	}
	w.Header().Set("EXECD-COMMANDS-TAIL-CURSOR", fmt.Sprint(max(int64(len(data)), cursor)))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write(data[min(cursor, int64(len(data))):])
}

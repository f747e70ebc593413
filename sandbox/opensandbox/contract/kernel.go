package contract

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

//go:embed kernel.py
var kernelProgram string

// kernel is a python process that program texts are sent to.
type kernel struct {
	id    string
	c     *command
	mu    sync.Mutex // held while a text runs
	in    io.WriteCloser
	out   *bufio.Reader
	count int
}

type contextRequest struct {
	ID       string `json:"id,omitempty"`
	Language string `json:"language"`
	Cwd      string `json:"cwd,omitempty"`
}

// postContext makes a kernel. A daemon without kernels tries to for minutes.
func (sb *sandbox) postContext(w http.ResponseWriter, r *http.Request) {
	var in contextRequest
	if !decode(w, r, &in) {
		return
	}
	if !sb.server.opts.Kernels {
		select {
		case <-r.Context().Done():
		case <-sb.gone:
		}
		panic(http.ErrAbortHandler)
	}
	k, err := sb.startKernel(in)
	if err != nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error creating code context. %v", err)
		return
	}
	in.ID = k.id
	reply(w, http.StatusOK, in)
}

func (sb *sandbox) startKernel(in contextRequest) (*kernel, error) {
	if in.Language != "python" {
		return nil, fmt.Errorf("no kernel for %q", in.Language)
	}
	if in.Cwd == "" {
		in.Cwd = "/"
	}
	id := uuid.NewString()
	c := &command{id: id, content: "kernel", started: time.Now(), done: make(chan struct{})}
	c.cmd = sb.inside(in.Cwd, nil, "python3", "-uc", kernelProgram)
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stdout = write
	c.stderr = filepath.Join(sb.dir, "logs", id+".kernel")
	if c.cmd.Stderr, err = os.Create(c.stderr); err != nil {
		return nil, err
	}
	err = sb.launch(c, 0)
	_ = write.Close()
	if err != nil {
		_ = out.Close()
		return nil, err
	}
	k := &kernel{id: id, c: c, in: stdin, out: bufio.NewReader(out)}
	sb.mu.Lock()
	sb.kernels[id] = k
	sb.mu.Unlock()
	sb.server.busy.Go(func() {
		<-c.done
		k.mu.Lock() // whoever reads has come to the end
		defer k.mu.Unlock()
		_ = out.Close()
	})
	return k, nil
}

// kernelFor returns the kernel of a context, or that which is kept for the language.
func (sb *sandbox) kernelFor(in contextRequest) (*kernel, error) {
	if !sb.server.opts.Kernels {
		return nil, fmt.Errorf("language runtime server not configured, please check your image runtime")
	}
	id := in.ID
	if id == "" {
		id = "default-" + in.Language
	}
	sb.mu.Lock()
	k := sb.kernels[id]
	sb.mu.Unlock()
	if k != nil || in.ID != "" {
		if k == nil {
			return nil, fmt.Errorf("context %s not found", in.ID)
		}
		return k, nil
	}
	k, err := sb.startKernel(in)
	if err == nil {
		sb.mu.Lock()
		sb.kernels[id] = k
		sb.mu.Unlock()
	}
	return k, err
}

func (sb *sandbox) postCode(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Context contextRequest `json:"context"`
		Code    string         `json:"code"`
	}
	if !decode(w, r, &in) {
		return
	}
	if in.Code == "" {
		fail(w, http.StatusBadRequest, "INVALID_REQUEST_BODY", "invalid request, validation error Key: 'RunCodeRequest.Code' Error:Field validation for 'Code' failed on the 'required' tag")
		return
	}
	if in.Context.Language == "command" {
		body, _ := json.Marshal(runRequest{Command: in.Code})
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		sb.postCommand(w, r)
		return
	}
	k, err := sb.kernelFor(in.Context)
	if err != nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error running codes %v", err)
		return
	}
	e := newEvents(w)
	e.text("init", k.id)
	stop := e.pings()
	defer stop()
	k.run(in.Code, e)
}

// run has a kernel run a text, and tells what happens.
func (k *kernel) run(code string, e *events) {
	k.mu.Lock()
	defer k.mu.Unlock()
	begin := time.Now()
	k.count++
	line, _ := json.Marshal(code)
	_, err := k.in.Write(append(line, '\n'))
	for err == nil {
		if line, err = k.out.ReadBytes('\n'); err != nil {
			break
		}
		var told struct {
			Type, Text, Name string
			Trace            []string
		}
		if err = json.Unmarshal(line, &told); err != nil {
			break
		}
		switch told.Type {
		case "result":
			e.tell(event{Type: "execution_count", ExecutionCount: k.count})
			e.tell(event{Type: "result", Results: map[string]string{"text": told.Text}})
		case "error":
			e.tell(event{Type: "error", Error: &eventError{told.Name, told.Text, told.Trace}})
			return
		case "done":
			e.tell(event{Type: "execution_complete", ExecutionTime: time.Since(begin).Milliseconds()})
			return
		default:
			e.text(told.Type, told.Text)
		}
	}
	e.tell(event{Type: "error", Error: &eventError{"KernelDied", err.Error(), []string{err.Error()}}})
}

func (sb *sandbox) kernel(id string) *kernel {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return sb.kernels[id]
}

func (sb *sandbox) deleteCode(w http.ResponseWriter, r *http.Request) {
	k := sb.kernel(r.URL.Query().Get("id"))
	if k == nil {
		fail(w, http.StatusInternalServerError, "RUNTIME_ERROR", "error interrupting code context. no such session")
		return
	}
	k.c.signal(signalInt)
}

func (sb *sandbox) listContexts(w http.ResponseWriter, r *http.Request) {
	found := []contextRequest{}
	sb.mu.Lock()
	for id := range sb.kernels {
		found = append(found, contextRequest{ID: id, Language: "python"})
	}
	sb.mu.Unlock()
	if l := r.URL.Query().Get("language"); l != "" && l != "python" {
		found = found[:0]
	}
	slices.SortFunc(found, func(a, b contextRequest) int { return strings.Compare(a.ID, b.ID) })
	reply(w, http.StatusOK, found)
}

func (sb *sandbox) deleteContext(w http.ResponseWriter, r *http.Request) {
	k := sb.kernel(r.PathValue("id"))
	if k == nil {
		fail(w, http.StatusNotFound, "CONTEXT_NOT_FOUND", "context %s not found", r.PathValue("id"))
		return
	}
	sb.mu.Lock()
	delete(sb.kernels, r.PathValue("id"))
	sb.mu.Unlock()
	k.c.signal(signalKill)
}

package opensandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// execdPort is where the daemon listens in a sandbox.
const execdPort = 44772

// Execd is the daemon in a sandbox, which runs commands and reaches files. It is for what
// [sandbox.Sandbox] does not offer. It is safe for concurrent use.
type Execd struct {
	server
	silence time.Duration // after which a stream is taken for dead
	over    sync.WaitGroup
}

// streamSilence is long: the daemon sends something every 3 seconds.
const streamSilence = time.Minute

// Execd returns the daemon of a sandbox that runs. With viaProxy, the server forwards the
// requests.
func (c *Client) Execd(ctx context.Context, id string, viaProxy bool) (*Execd, error) {
	s, err := c.endpoint(ctx, id, execdPort, viaProxy)
	if err != nil {
		return nil, err
	}
	return &Execd{server: *s, silence: streamSilence}, nil
}

// Close waits until streams that are over have been closed by the daemon, a second or so.
func (e *Execd) Close() { e.over.Wait() }

// Ping returns nil if the daemon answers.
func (e *Execd) Ping(ctx context.Context) error {
	return e.call(ctx, http.MethodGet, "/ping", nil, nil, nil)
}

// Run is a command for the shell.
type Run struct {
	Command    string            `json:"command"`
	Dir        string            `json:"cwd,omitzero"` // absolute
	Background bool              `json:"background,omitzero"`
	Timeout    int64             `json:"timeout,omitzero"` // milliseconds; 0: none
	UID        *int              `json:"uid,omitzero"`
	GID        *int              `json:"gid,omitzero"` // only with UID
	Env        map[string]string `json:"envs,omitzero"`
}

// Run runs a command to its end, and hands on what happens. It returns the last event; an
// error of the command's is one too. When ctx ends, the stream does, and the command goes
// on: see [Execd.Interrupt].
func (e *Execd) Run(ctx context.Context, r Run, each func(Event)) (Event, error) {
	return e.stream(ctx, "/command", r, each)
}

// Start starts a command that goes on in the background, and returns its id.
func (e *Execd) Start(ctx context.Context, r Run) (id string, err error) {
	r.Background = true
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	last, err := e.stream(ctx, "/command", r, func(ev Event) {
		if ev.Type == "init" {
			id = ev.Text
		}
	})
	if err == nil && last.Error != nil {
		err = fmt.Errorf("start %q: %s", r.Command, last.Error.Value)
	}
	return id, err
}

// CommandStatus is what a command has come to.
type CommandStatus struct {
	ID       string    `json:"id"`
	Command  string    `json:"content"`
	Running  bool      `json:"running"`
	ExitCode *int      `json:"exit_code"` // nil while it runs
	Error    string    `json:"error"`
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at,omitzero"`
}

// Status returns what a command has come to. The daemon learns of one in the background a
// moment after it has started it.
func (e *Execd) Status(ctx context.Context, id string) (CommandStatus, error) {
	var s CommandStatus
	err := e.call(ctx, http.MethodGet, "/command/status/"+url.PathEscape(id), nil, nil, &s)
	return s, err
}

// Logs returns what a command in the background has put out from a cursor on, at first 0,
// and the cursor to go on from.
func (e *Execd) Logs(ctx context.Context, id string, cursor int64) (text []byte, next int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	r := request{method: http.MethodGet, path: "/command/" + url.PathEscape(id) + "/logs", query: url.Values{"cursor": {strconv.FormatInt(cursor, 10)}}}
	resp, err := e.send(ctx, r)
	if err != nil {
		return nil, cursor, err
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(resp.Body); err != nil {
		return nil, cursor, failure(ctx, r, err)
	}
	next, err = strconv.ParseInt(resp.Header.Get("EXECD-COMMANDS-TAIL-CURSOR"), 10, 64)
	if err != nil {
		next = cursor + int64(len(text)) // it counts bytes
	}
	return text, next, nil
}

// Interrupt ends a command and what it has started. It takes seconds if they do not go at
// once.
func (e *Execd) Interrupt(ctx context.Context, id string) error {
	return e.call(ctx, http.MethodDelete, "/command", url.Values{"id": {id}}, nil, nil)
}

// errSilence is why a stream is given up.
var errSilence = errors.New("the daemon has fallen silent")

// stream posts something that runs, and hands on its events up to the last one.
func (e *Execd) stream(ctx context.Context, path string, in any, each func(Event)) (Event, error) {
	r := request{method: http.MethodPost, path: path}
	var err error
	if r.body, err = json.Marshal(in); err != nil {
		return Event{}, fmt.Errorf("%s: %w", r, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(e.silence, func() { cancel(errSilence) })
	defer watch.Stop()
	line, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, hangUp)
	resp, err := e.send(line, r)
	if err != nil {
		hangUp()
		return Event{}, cause(ctx, err)
	}
	for s := newEvents(resp.Body); ; {
		ev, err := s.next()
		if err != nil {
			err = cause(ctx, failure(line, r, err))
			hangUp()
			_ = resp.Body.Close()
			return Event{}, err
		}
		watch.Reset(e.silence)
		each(ev)
		if ev.last() {
			if stop() {
				e.drain(resp.Body, hangUp)
			}
			return ev, nil
		}
	}
}

// cause is why a stream has ended, if that was not the daemon's doing.
func cause(ctx context.Context, err error) error {
	var c *connectionError
	if ctx.Err() != nil && errors.As(err, &c) {
		return &connectionError{c.request, context.Cause(ctx)}
	}
	return err
}

// drainTime is more than the daemon holds a stream after its last event.
const drainTime = 5 * time.Second

// drain reads a stream to its end. If the connection were closed before, the daemon would
// get a signal from writing to it, and pass that on to whatever else it runs.
func (e *Execd) drain(body io.ReadCloser, hangUp func()) {
	late := time.AfterFunc(drainTime, hangUp)
	e.over.Go(func() {
		defer hangUp()
		defer late.Stop()
		_, _ = io.Copy(io.Discard, body)
		_ = body.Close()
	})
}

// FileInfo is what the daemon knows of a file.
type FileInfo struct {
	Path     string    `json:"path"`
	Type     string    `json:"type"` // "file", "directory", "symlink", "other"
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified_at"`
	Owner    string    `json:"owner"`
	Group    string    `json:"group"`
	Mode     octal     `json:"mode"`
}

func (i FileInfo) mode() fs.FileMode {
	mode := fs.FileMode(i.Mode)
	switch i.Type {
	case "directory":
		mode |= fs.ModeDir
	case "symlink":
		mode |= fs.ModeSymlink
	case "other":
		mode |= fs.ModeIrregular
	}
	return mode
}

// octal is a mode that is written as a decimal number which looks like the octal one.
type octal fs.FileMode

// MarshalJSON writes 0o644 as 644.
func (o octal) MarshalJSON() ([]byte, error) {
	return strconv.AppendUint(nil, uint64(o), 8), nil
}

// UnmarshalJSON reads 644 as 0o644.
func (o *octal) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseUint(string(data), 8, 32)
	*o = octal(n)
	return err
}

// Info describes a file, a link as what it is.
func (e *Execd) Info(ctx context.Context, name string) (FileInfo, error) {
	all, err := e.infos(ctx, name)
	return all[name], err
}

// infos describes files, all of which must be there.
func (e *Execd) infos(ctx context.Context, names ...string) (all map[string]FileInfo, err error) {
	if err := e.call(ctx, http.MethodGet, "/files/info", url.Values{"path": names}, nil, &all); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := all[name]; !ok {
			return nil, fmt.Errorf("GET /files/info: the answer says nothing of %s", name)
		}
	}
	return all, nil
}

// List returns what is in a folder, and with a depth of more than 1 what is below.
func (e *Execd) List(ctx context.Context, dir string, depth int) ([]FileInfo, error) {
	var all []FileInfo
	query := url.Values{"path": {dir}, "depth": {strconv.Itoa(depth)}}
	return all, e.call(ctx, http.MethodGet, "/directories/list", query, nil, &all)
}

// Search returns the files below a folder whose names match a pattern; empty: all.
func (e *Execd) Search(ctx context.Context, dir, pattern string) ([]FileInfo, error) {
	var all []FileInfo
	query := url.Values{"path": {dir}}
	if pattern != "" {
		query.Set("pattern", pattern)
	}
	return all, e.call(ctx, http.MethodGet, "/files/search", query, nil, &all)
}

// Remove deletes files, no folders. Those that are not there are no error.
func (e *Execd) Remove(ctx context.Context, names ...string) error {
	return e.call(ctx, http.MethodDelete, "/files", url.Values{"path": names}, nil, nil)
}

// Download returns the content of a file from offset on, at most max bytes, all of it if
// max is negative. Close it within 10 minutes.
func (e *Execd) Download(ctx context.Context, name string, offset int64, max int) (io.ReadCloser, error) {
	r := request{method: http.MethodGet, path: "/files/download", query: url.Values{"path": {name}}}
	if offset > 0 || max >= 0 {
		span := fmt.Sprintf("bytes=%d-", offset)
		if max >= 0 {
			span += strconv.FormatInt(offset+int64(max)-1, 10)
		}
		r.header = map[string]string{"Range": span}
	}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	resp, err := e.send(ctx, r)
	if err != nil {
		cancel()
		return nil, err
	}
	var body io.Reader = &wholly{resp.Body, resp.ContentLength}
	if offset > 0 && resp.StatusCode != http.StatusPartialContent {
		if _, err := io.CopyN(io.Discard, body, offset); err != nil && !errors.Is(err, io.EOF) { // it knows no ranges
			cancel()
			return nil, errors.Join(failure(ctx, r, err), resp.Body.Close())
		}
	}
	if max >= 0 {
		body = io.LimitReader(body, int64(max))
	}
	return &download{body, resp.Body, cancel}, nil
}

type download struct {
	io.Reader
	body   io.Closer
	cancel context.CancelFunc
}

func (d *download) Close() error {
	defer d.cancel()
	return d.body.Close()
}

// wholly is a body that does not end before it should.
type wholly struct {
	r    io.Reader
	left int64 // less than 0: unknown
}

func (w *wholly) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if w.left >= 0 {
		w.left -= int64(n)
	}
	if errors.Is(err, io.EOF) && w.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Upload writes a file anew, and makes its folders. If it fails, a part of it may be
// there.
func (e *Execd) Upload(ctx context.Context, name string, mode fs.FileMode, content io.Reader) error {
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	meta, err := json.Marshal(struct {
		Path string `json:"path"`
		Mode octal  `json:"mode"`
	}{name, octal(mode.Perm())})
	if err == nil {
		err = parts(m, meta, path.Base(name))
	}
	if err != nil {
		return fmt.Errorf("upload %s: %w", name, err)
	}
	end := "\r\n--" + m.Boundary() + "--\r\n"
	r := request{method: http.MethodPost, path: "/files/upload", kind: m.FormDataContentType()}
	ctx, cancel := context.WithTimeout(ctx, transferTime)
	defer cancel()
	req, err := e.prepare(ctx, r, io.MultiReader(&form, content, bytes.NewReader([]byte(end))))
	if err != nil {
		return err
	}
	resp, err := e.do(req, r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// parts writes the two parts of an upload up to where the content begins. What describes
// the file must be a file too.
func parts(m *multipart.Writer, meta []byte, name string) error {
	w, err := m.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="metadata"; filename="metadata"`}, "Content-Type": {"application/json"},
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(meta); err != nil {
		return err
	}
	_, err = m.CreateFormFile("file", name)
	return err
}

// CreateContext makes a context for a language, in which program texts find what earlier
// ones have left. A daemon without kernels does not answer for minutes.
func (e *Execd) CreateContext(ctx context.Context, language, dir string) (id string, err error) {
	type kernel struct {
		ID       string `json:"id,omitzero"`
		Language string `json:"language"`
		Dir      string `json:"cwd,omitzero"`
	}
	var out kernel
	err = e.call(ctx, http.MethodPost, "/code/context", nil, kernel{Language: language, Dir: dir}, &out)
	return out.ID, err
}

// DeleteContext ends a context.
func (e *Execd) DeleteContext(ctx context.Context, id string) error {
	return e.call(ctx, http.MethodDelete, "/code/contexts/"+url.PathEscape(id), nil, nil, nil)
}

// RunCode runs a program text in a context; without one, in that which the daemon keeps
// for the language. It is like [Execd.Run] otherwise.
func (e *Execd) RunCode(ctx context.Context, contextID, language, source string, each func(Event)) (Event, error) {
	type kernel struct {
		ID       string `json:"id,omitzero"`
		Language string `json:"language"`
	}
	return e.stream(ctx, "/code", struct {
		Context kernel `json:"context"`
		Code    string `json:"code"`
	}{kernel{contextID, language}, source}, each)
}

// InterruptCode ends what runs in a context.
func (e *Execd) InterruptCode(ctx context.Context, contextID string) error {
	return e.call(ctx, http.MethodDelete, "/code", url.Values{"id": {contextID}}, nil, nil)
}

package contract

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	execdPort  = 44772
	egressPort = 18080
	// slowly is how long it takes to pause, to resume, and to take a snapshot.
	slowly = 30 * time.Millisecond
	// markSandbox is in the environment of all that runs in a sandbox.
	markSandbox = "CONTRACT_SANDBOX"
)

// sandbox is one of the server's.
type sandbox struct {
	server  *Server
	id      string
	dir     string // of this machine: workspace/, tmp/ and logs/ are in it
	token   string
	addr    string
	request createRequest
	http    *http.Server // nil: another daemon serves it
	gone    chan struct{}

	mu       sync.Mutex
	info     info
	expires  *time.Timer
	thawed   chan struct{} // closed while it is not paused
	commands map[string]*command
	kernels  map[string]*kernel
}

// make makes a sandbox that will run after a while.
func (s *Server) make(in createRequest) (*sandbox, error) {
	id := uuid.NewString()
	now := time.Now().UTC()
	sb := &sandbox{
		server: s, id: id, dir: filepath.Join(s.dir, id), token: uuid.NewString(), request: in,
		gone: make(chan struct{}), thawed: make(chan struct{}), commands: map[string]*command{}, kernels: map[string]*kernel{},
		info: info{
			ID: id, Image: in.Image, SnapshotID: in.SnapshotID, Metadata: in.Metadata, Entrypoint: in.Entrypoint,
			Status: status{State: "Pending", Reason: "provisioning", Since: now}, CreatedAt: now,
		},
	}
	close(sb.thawed)
	if sb.info.Entrypoint == nil {
		sb.info.Entrypoint = []string{"tail", "-f", "/dev/null"}
	}
	if err := s.furnish(sb); err != nil {
		return nil, err
	}
	if err := s.startExecd(sb); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.sandboxes[id] = sb
	s.mu.Unlock()
	if in.Timeout != nil {
		s.lease(sb, now.Add(time.Duration(*in.Timeout)*time.Second))
	}
	s.later(sb, s.opts.Start, func() { sb.move("Pending", "Running") })
	return sb, nil
}

// furnish makes the folders of a sandbox, from a snapshot if there is one.
func (s *Server) furnish(sb *sandbox) error {
	if from := s.ready(sb.request.SnapshotID); from != nil {
		return copyTree(s.life, from.dir, sb.dir)
	}
	for _, name := range []string{"workspace", "tmp", "logs"} {
		if err := os.MkdirAll(filepath.Join(sb.dir, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) startExecd(sb *sandbox) error {
	if s.opts.Execd != "" {
		u, err := url.Parse(s.opts.Execd)
		if err != nil {
			return err
		}
		sb.addr, sb.token = u.Host+u.Path, s.opts.ExecdToken
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	sb.addr = l.Addr().String()
	sb.http = s.serve(l, sb.execd())
	return nil
}

// later does something to a sandbox if it is still there.
func (s *Server) later(sb *sandbox, wait time.Duration, do func()) {
	s.busy.Go(func() {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
			do()
		case <-sb.gone:
		}
	})
}

// lease has a sandbox expire at a time, or when the server's own rule has it.
func (s *Server) lease(sb *sandbox, at time.Time) time.Time {
	if s.opts.Life > 0 {
		at = time.Now().UTC().Add(s.opts.Life)
	}
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.expires != nil {
		sb.expires.Stop()
	}
	sb.info.ExpiresAt = &at
	sb.expires = time.AfterFunc(time.Until(at), func() { s.remove(sb) })
	return at
}

// remove ends a sandbox.
func (s *Server) remove(sb *sandbox) {
	s.mu.Lock()
	_, there := s.sandboxes[sb.id]
	delete(s.sandboxes, sb.id)
	s.mu.Unlock()
	if !there {
		return
	}
	sb.mu.Lock()
	if sb.expires != nil {
		sb.expires.Stop()
	}
	close(sb.gone)
	sb.mu.Unlock()
	sb.killAll()
	if sb.http != nil {
		_ = sb.http.Close()
	}
}

// describe returns what the server tells of a sandbox.
func (sb *sandbox) describe() info {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	return sb.info
}

func (sb *sandbox) move(from, to string) bool {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if sb.info.Status.State != from {
		return false
	}
	sb.info.Status = status{State: to, Since: time.Now().UTC()}
	return true
}

// freeze stops all that runs, the daemon too, or has it go on.
func (sb *sandbox) freeze(stop bool) {
	sb.mu.Lock()
	defer sb.mu.Unlock()
	if stop {
		sb.thawed = make(chan struct{})
	} else {
		close(sb.thawed)
	}
	for _, c := range sb.commands {
		c.signalStop(stop)
	}
}

// awake waits while the sandbox is paused.
func (sb *sandbox) awake(r *http.Request) bool {
	sb.mu.Lock()
	thawed := sb.thawed
	sb.mu.Unlock()
	select {
	case <-thawed:
		return true
	case <-sb.gone:
	case <-r.Context().Done():
	}
	return false
}

// proxy forwards a request to a port of a sandbox.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, sb *sandbox) {
	if r.PathValue("port") != fmt.Sprint(execdPort) {
		fail(w, http.StatusBadGateway, "SANDBOX::UNKNOWN_ERROR", "nothing listens on port %s", r.PathValue("port"))
		return
	}
	_ = http.NewResponseController(w).EnableFullDuplex() // the answer may begin before the body is read
	p := &httputil.ReverseProxy{
		FlushInterval: -1, Transport: s.forward, ErrorLog: silent,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.URL.Path = "http", sb.addr, "/"+r.PathValue("rest")
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			fail(w, http.StatusBadGateway, "SANDBOX::UNKNOWN_ERROR", "Could not connect to the backend sandbox %s: %v", sb.addr, err)
		},
	}
	p.ServeHTTP(w, r)
}

var silent = log.New(io.Discard, "", 0)

// inside runs a program in a sandbox, in a folder of it. Every program has a process group
// of its own.
func (sb *sandbox) inside(dir string, env map[string]string, args ...string) *exec.Cmd {
	s := sb.server
	var cmd *exec.Cmd
	if s.bwrap != "" {
		cmd = exec.Command(s.bwrap, append(append(sb.mounts(), "--chdir", dir, "--"), args...)...)
	} else {
		for i := range args {
			args[i] = sb.translate(args[i])
		}
		cmd = exec.Command(args[0], args[1:]...)
		cmd.Dir = sb.host(dir)
	}
	cmd.Env = []string{"PATH=" + s.path, "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8", markSandbox + "=" + sb.id}
	for _, more := range []map[string]string{sb.request.Env, env} {
		for name, value := range more {
			cmd.Env = append(cmd.Env, name+"="+sb.translate(value))
		}
	}
	ownGroup(cmd)
	return cmd
}

// mounts are what a command sees: its workspace and temporary folder, the rest of this
// machine read-only, but caches.
func (sb *sandbox) mounts() []string {
	args := []string{"--dev-bind", "/dev", "/dev", "--ro-bind", "/proc", "/proc"}
	top, _ := os.ReadDir("/")
	for _, e := range top {
		name := "/" + e.Name()
		switch target, err := os.Readlink(name); {
		case name == "/dev", name == "/proc", name == "/tmp", name == "/workspace":
		case err == nil:
			args = append(args, "--symlink", target, name)
		default:
			args = append(args, "--ro-bind", name, name)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		args = append(args, "--bind-try", cache, cache)
	}
	args = append(args, "--bind", filepath.Join(sb.dir, "tmp"), "/tmp", "--bind", filepath.Join(sb.dir, "workspace"), "/workspace")
	if strings.HasPrefix(sb.server.path, sb.server.dir) {
		args = append(args, "--ro-bind", sb.server.path, sb.server.path)
	}
	for _, v := range sb.request.Volumes {
		args = append(args, "--bind", v.Host.Path, v.MountPath)
	}
	if p := sb.request.NetworkPolicy; p != nil && p.DefaultAction != "allow" && sb.server.opts.Egress == "dns+nft" {
		args = append(args, "--unshare-net")
	}
	return args
}

// translate has a text that names the workspace name the folder, where that cannot be put
// there.
func (sb *sandbox) translate(text string) string {
	if sb.server.bwrap != "" {
		return text
	}
	return workspaceName.ReplaceAllString(text, "${1}"+sb.host("/workspace")+"$2")
}

// workspaceName is the workspace's, and not that of a folder in another one.
var workspaceName = regexp.MustCompile(`(^|[^A-Za-z0-9_./-])/workspace($|[^A-Za-z0-9_.-])`)

// host is the file of this machine that a name in the sandbox stands for.
func (sb *sandbox) host(name string) string {
	name = path.Clean("/" + name)
	for _, v := range sb.request.Volumes {
		if rest, ok := below(name, v.MountPath); ok {
			return filepath.Join(v.Host.Path, rest)
		}
	}
	for _, top := range []string{"workspace", "tmp"} {
		if rest, ok := below(name, "/"+top); ok && (top == "workspace" || sb.server.bwrap != "") {
			return filepath.Join(sb.dir, top, rest)
		}
	}
	return name
}

func below(name, dir string) (string, bool) {
	if name == dir {
		return "", true
	}
	return strings.CutPrefix(name, dir+"/")
}

// Package contract is an OpenSandbox server for tests: it speaks the protocols of the
// lifecycle server and of the daemon in sandboxes as these were observed, deviations from
// their descriptions included, and really runs commands and keeps files. It fails where a
// test asks for it.
//
// A sandbox is a folder of this machine. Where the program bwrap works, commands find that
// folder's parts at /workspace and /tmp, and the rest of this machine read-only; elsewhere
// the text "/workspace" in commands, and names of files below it, are translated. So it
// isolates nothing: use it with commands that are trusted.
//
// It does not imitate: images, resource limits, users and owners of files, the entrypoint,
// sessions, terminals, pools, signed endpoints, renewal by access, rules of network
// policies, the credential vault, and kernels other than python's. Absolute symbolic links
// are followed by commands, and by no route of the daemon's.
//
// Next: [github.com/openrath-go/rath/memory/openviking/contract], where the tour ends.
package contract

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a server. The zero value is one that needs no key, binds no
// directories and has no guard for networks.
type Options struct {
	APIKey string
	// Start is how long a sandbox takes until it runs.
	Start time.Duration
	// Life is how long a sandbox lives, whatever it asks for, from its making and from each
	// renewal on. 0: as long as it asks for.
	Life time.Duration
	// AllowedHostPaths are the folders below which directories may be bound.
	AllowedHostPaths []string
	// Egress is the enforcement mode of the guard for networks, "dns" or "dns+nft". Empty:
	// there is none. Only "dns+nft" enforces anything, and needs bwrap.
	Egress string
	// NoSnapshots is a server that keeps none.
	NoSnapshots bool
	// Kernels runs python in contexts. Without, the daemon has no kernels, and does not
	// answer when a context is asked for.
	Kernels bool
	// Without names programs that commands must not find.
	Without []string
	// Translate has names be translated even where bwrap works.
	Translate bool
	// Execd is the URL of a daemon that is to serve all sandboxes, instead of one for each.
	Execd      string
	ExecdToken string
}

// Server is one server. It is safe for concurrent use.
type Server struct {
	opts  Options
	dir   string
	bwrap string // the program; empty: it does not work here
	path  string // for commands
	http  *http.Server
	addr  string
	// forward sends requests on to daemons.
	forward *http.Transport

	mu        sync.Mutex
	sandboxes map[string]*sandbox
	snapshots map[string]*snapshot
	faults    []*Fault
	seen      []string
	closed    bool
	life      context.Context
	end       context.CancelFunc
	busy      sync.WaitGroup
}

// New starts a server on this machine. Close it.
func New(opts *Options) (*Server, error) {
	s := &Server{sandboxes: map[string]*sandbox{}, snapshots: map[string]*snapshot{}, path: os.Getenv("PATH"), forward: &http.Transport{}}
	if opts != nil {
		s.opts = *opts
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "contract-*"); err != nil {
		return nil, err
	}
	if s.dir, err = filepath.EvalSymlinks(s.dir); err != nil {
		return nil, err
	}
	s.life, s.end = context.WithCancel(context.Background())
	if !s.opts.Translate {
		s.bwrap = findBwrap(s.life)
	}
	if err := s.hide(s.opts.Without); err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	s.addr = l.Addr().String()
	s.http = s.serve(l, s.lifecycle())
	return s, nil
}

// serve runs a handler until the server is closed.
func (s *Server) serve(l net.Listener, h http.Handler) *http.Server {
	srv := &http.Server{Handler: s.faulty(h), ErrorLog: silent}
	s.busy.Go(func() { _ = srv.Serve(l) })
	return srv
}

func findBwrap(ctx context.Context) string {
	program, err := exec.LookPath("bwrap")
	if err != nil || exec.CommandContext(ctx, program, "--ro-bind", "/", "/", "true").Run() != nil {
		return ""
	}
	return program
}

// hide makes a path for commands that has all programs but some.
func (s *Server) hide(without []string) error {
	if len(without) == 0 {
		return nil
	}
	bin := filepath.Join(s.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	for _, dir := range filepath.SplitList(s.path) {
		files, _ := os.ReadDir(dir)
		for _, f := range files {
			_ = os.Symlink(filepath.Join(dir, f.Name()), filepath.Join(bin, f.Name())) // the first one counts
		}
	}
	for _, name := range without {
		if err := os.Remove(filepath.Join(bin, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	s.path = bin
	return nil
}

// URL is where the server listens.
func (s *Server) URL() string { return "http://" + s.addr }

// Isolated reports whether commands find the workspace where it should be, and can be kept
// from networks.
func (s *Server) Isolated() bool { return s.bwrap != "" }

// IDs returns the sandboxes that there are.
func (s *Server) IDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.sandboxes {
		ids = append(ids, id)
	}
	return ids
}

// SnapshotIDs returns the snapshots that there are.
func (s *Server) SnapshotIDs() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.snapshots {
		ids = append(ids, id)
	}
	return ids
}

// Expire has a sandbox's time be up.
func (s *Server) Expire(id string) {
	if sb := s.sandbox(id); sb != nil {
		s.remove(sb)
	}
}

// Close ends all sandboxes, and waits for them.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closed = true
	var all []*sandbox
	for _, sb := range s.sandboxes {
		all = append(all, sb)
	}
	s.mu.Unlock()
	for _, sb := range all {
		s.remove(sb)
	}
	s.end()
	err := s.http.Close()
	s.busy.Wait()
	s.forward.CloseIdleConnections()
	return errors.Join(err, os.RemoveAll(s.dir))
}

// Seen returns the requests that have come, "POST /v1/sandboxes" for one, those to daemons
// too.
func (s *Server) Seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// Count returns how many of the requests seen begin with a text.
func (s *Server) Count(prefix string) (n int) {
	for _, r := range s.Seen() {
		if strings.HasPrefix(r, prefix) {
			n++
		}
	}
	return n
}

// Fault is how a request fails.
type Fault struct {
	Method string // empty: any
	Path   string // that the request's contains
	Times  int    // 0: always
	Skip   int    // requests that do not fail before it
	// Status and Body are the answer. Status 0: see below.
	Status int
	Body   string
	// Hang has the request wait until the client is tired of it.
	Hang bool
	// Cut has the connection break. The request is carried out first, unless Refuse is set;
	// of a stream, so many events are sent before.
	Cut    bool
	Refuse bool
	Events int
}

// Inject has requests fail from now on.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault notes a request, and returns how it is to fail, if it is.
func (s *Server) fault(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	for i, f := range s.faults {
		if f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.Path, f.Path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		f.Times--
		return f
	}
	return nil
}

func (s *Server) faulty(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := s.fault(r)
		switch {
		case f == nil:
			h.ServeHTTP(w, r)
		case f.Hang:
			select {
			case <-r.Context().Done():
			case <-s.life.Done():
			}
			panic(http.ErrAbortHandler)
		case f.Cut && f.Refuse:
			panic(http.ErrAbortHandler)
		case f.Cut:
			h.ServeHTTP(&cutter{ResponseWriter: w, left: f.Events}, r)
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(f.Status)
			fmt.Fprint(w, f.Body)
		}
	})
}

// cutter breaks the connection after some writes.
type cutter struct {
	http.ResponseWriter
	mu   sync.Mutex
	left int
	cut  bool
}

func (c *cutter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left >= 0 {
		return c.ResponseWriter.Write(p)
	}
	if !c.cut {
		c.cut = true
		if conn, _, err := http.NewResponseController(c.ResponseWriter).Hijack(); err == nil {
			_ = conn.Close()
		}
	}
	return 0, net.ErrClosed
}

func (c *cutter) Flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.cut {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
	}
}

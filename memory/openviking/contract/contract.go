// Package contract is an OpenViking server for tests. It speaks the HTTP API as the
// documents of v0.4.16 describe it: the envelope, the errors and their statuses, the refusal
// of fields that are not documented, keys, the names of users in URIs, and what is done
// later. It fails where a test asks for it.
//
// It has no models. It finds all texts, those that share words with the query first; its summaries are the
// names of what is in a folder; and the facts of a session are the messages of users that
// begin with "Remember". It reads no documents but texts, and fetches none: see
// [Options.Web]. It does not imitate accounts, roles, peers' views, tags, watches, skills,
// snapshots, path variables beyond refusing them, and locks.
package contract

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Options are the settings of a server. The zero value is one that needs no key.
type Options struct {
	APIKey string
	User   string // whom the key is of; empty: "default"
	// Lag is after how many requests what was written is found, unless the writing waits.
	Lag int
	// Polls is how often a task is asked after before it is completed, and Failing has it
	// fail then.
	Polls   int
	Failing bool
	// Web has the texts at the addresses that can be added.
	Web map[string]string
	// Now is the server's clock; nil: time.Now.
	Now func() time.Time
}

// Server is one server. It is safe for concurrent use.
type Server struct {
	opts Options
	addr string
	http *http.Server
	busy sync.WaitGroup
	end  chan struct{}

	mu       sync.Mutex
	nodes    map[string]*node // by URI, without a slash at its end
	uploads  map[string]upload
	sessions map[string]*session
	tasks    map[string]*task
	faults   []*Fault
	seen     []string
	serial   int
}

// New starts a server on this machine. Close it.
func New(o *Options) (*Server, error) {
	s := &Server{
		nodes: map[string]*node{}, uploads: map[string]upload{}, sessions: map[string]*session{}, tasks: map[string]*task{},
		end: make(chan struct{}),
	}
	if o != nil {
		s.opts = *o
	}
	if s.opts.User == "" {
		s.opts.User = "default"
	}
	if s.opts.Now == nil {
		s.opts.Now = time.Now
	}
	for _, uri := range []string{"viking://user", s.home(), "viking://resources", "viking://agent"} {
		s.nodes[uri] = &node{dir: true, time: s.opts.Now()}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.addr = l.Addr().String()
	s.http = &http.Server{Handler: s.requestID(s.faulty(s.routes())), ReadHeaderTimeout: time.Minute}
	s.busy.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// home is the folder of the user.
func (s *Server) home() string { return "viking://user/" + s.opts.User }

// URL is where the server listens.
func (s *Server) URL() string { return "http://" + s.addr }

// Close ends the server.
func (s *Server) Close() error {
	close(s.end)
	err := s.http.Close()
	s.busy.Wait()
	return err
}

// Seen returns the requests that have come, "POST /api/v1/content/write" for one.
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

func (s *Server) routes() http.Handler {
	api := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /api/v1/system/status":                 s.status,
		"POST /api/v1/system/wait":                  s.wait,
		"GET /api/v1/fs/ls":                         s.ls,
		"GET /api/v1/fs/tree":                       s.tree,
		"GET /api/v1/fs/stat":                       s.stat,
		"POST /api/v1/fs/mkdir":                     s.mkdir,
		"POST /api/v1/fs/mv":                        s.mv,
		"DELETE /api/v1/fs":                         s.rm,
		"GET /api/v1/content/read":                  s.read,
		"GET /api/v1/content/abstract":              s.abstract,
		"GET /api/v1/content/overview":              s.overview,
		"POST /api/v1/content/write":                s.write,
		"POST /api/v1/search/find":                  s.find,
		"POST /api/v1/search/search":                s.search,
		"POST /api/v1/resources/temp_upload":        s.upload,
		"POST /api/v1/resources":                    s.addResource,
		"GET /api/v1/sessions/{id}":                 s.getSession,
		"POST /api/v1/sessions/{id}/messages/batch": s.addMessages,
		"POST /api/v1/sessions/{id}/used":           s.used,
		"POST /api/v1/sessions/{id}/commit":         s.commit,
		"GET /api/v1/tasks/{id}":                    s.getTask,
	} {
		api.Handle(pattern, s.locked(h))
	}
	api.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fail(w, &failure{"NOT_FOUND", "Not Found", nil}) })
	open := http.NewServeMux()
	open.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		mode := "api_key"
		if s.opts.APIKey == "" {
			mode = "dev"
		}
		reply(w, http.StatusOK, map[string]any{"status": "ok", "healthy": true, "version": "0.4.16", "auth_mode": mode})
	})
	open.Handle("/", s.authorized(api))
	return open
}

// handler does what a request asks for, and returns the result for the envelope.
type handler func(r *http.Request) (any, *failure)

// locked runs a handler alone.
func (s *Server) locked(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		result, f := h(r)
		s.mu.Unlock()
		if f != nil {
			fail(w, f)
			return
		}
		reply(w, http.StatusOK, map[string]any{"status": "ok", "result": result})
	})
}

func (s *Server) authorized(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("X-API-Key")
		if key == "" {
			key = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		switch {
		case s.opts.APIKey == "" || subtle.ConstantTimeCompare([]byte(key), []byte(s.opts.APIKey)) == 1:
			h.ServeHTTP(w, r)
		case key == "":
			fail(w, &failure{"UNAUTHENTICATED", "Missing API Key when resolving identity.", nil})
		default:
			fail(w, &failure{"UNAUTHENTICATED", "Invalid API Key", nil})
		}
	})
}

// requestID echoes the request's, or gives it one.
func (s *Server) requestID(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-ID")
		if id == "" {
			id = uuid.NewString()
		}
		w.Header().Set("X-Request-ID", id)
		h.ServeHTTP(w, r)
	})
}

func (s *Server) status(*http.Request) (any, *failure) {
	return map[string]any{"initialized": true, "user": s.opts.User}, nil
}

func (s *Server) wait(r *http.Request) (any, *failure) {
	var in struct {
		Timeout *float64 `json:"timeout"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	for _, n := range s.nodes {
		n.lag = 0
	}
	return map[string]any{}, nil
}

// id makes a name that is the same in each run of a test.
func (s *Server) id(kind string) string {
	s.serial++
	return fmt.Sprintf("%s-%03d", kind, s.serial)
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

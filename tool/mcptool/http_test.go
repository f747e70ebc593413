//go:build unix

package mcptool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/tool"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			seen[r.Header.Get("Authorization")+"|"+r.Header.Get("X-Team")]++
			mu.Unlock()
			next.ServeHTTP(w, r)
		})
	})
	s.Bearer, s.Header = "sk-0123456789", http.Header{"x-team": {"blue"}}
	c := connect(t, s, nil)
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen["Bearer sk-0123456789|blue"] < 3 {
		t.Error(seen)
	}
}

// The key goes to no other server, and stands in no error.
func TestRedirect(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	s := overHTTP(t, newServer(), func(http.Handler) http.Handler { return http.RedirectHandler(other.URL, http.StatusTemporaryRedirect) })
	s.Bearer = "sk-0123456789"
	s.URL += "?token=abcdefghijkl"
	_, err := Connect(t.Context(), s, nil)
	if err == nil || elsewhere.Load() != 0 || strings.Contains(err.Error(), "sk-") || strings.Contains(err.Error(), "abcdef") {
		t.Errorf("%v, %d requests elsewhere", err, elsewhere.Load())
	}
}

// forgetful is a server that can forget its sessions, and answers for those it does not
// know with a status.
func forgetful(t *testing.T, status int) (s Server, forget func()) {
	var mu sync.Mutex
	server := newServer()
	fresh := func() http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	}
	handler, known := fresh(), map[string]bool{}
	s = overHTTP(t, server, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			h := handler
			id := r.Header.Get("Mcp-Session-Id")
			mu.Unlock()
			if id == "" {
				h.ServeHTTP(&noting{w, func(id string) { mu.Lock(); defer mu.Unlock(); known[id] = true }}, r)
				return
			}
			mu.Lock()
			ok := known[id]
			mu.Unlock()
			if !ok {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	return s, func() {
		mu.Lock()
		defer mu.Unlock()
		handler, known = fresh(), map[string]bool{}
	}
}

// noting notes the session that a response begins.
type noting struct {
	http.ResponseWriter
	note func(id string)
}

func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
func (n *noting) Flush()                      { n.ResponseWriter.(http.Flusher).Flush() }
func (n *noting) Write(p []byte) (int, error) {
	n.note(n.Header().Get("Mcp-Session-Id"))
	return n.ResponseWriter.Write(p)
}

func TestForgottenSession(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		s, forget := forgetful(t, status)
		c := connect(t, s, nil)
		expect(t, c, "echo", `{"text":"hi"}`, "hi")
		forget()
		_, _ = call(t, t.Context(), c, "echo", `{"text":"lost"}`) // may fail
		expect(t, c, "echo", `{"text":"after"}`, "after")
	}
}

// A server that never begins its own stream is used without.
func TestNoStream(t *testing.T) {
	t.Parallel()
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	c := connect(t, s, nil)
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
}

// breaking spoils the answers of calls whose text says so.
func breaking(t *testing.T) Server {
	server := newServer()
	json := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true})
	return overHTTP(t, server, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.Contains(string(body), "break off"):
				w.Header().Set("Content-Length", "100")
				fmt.Fprint(w, `{"jsonrpc":`)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			case strings.Contains(string(body), "flood"):
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, 1<<20)); err != nil {
						return
					}
				}
			case strings.Contains(string(body), "busy"):
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				w.Header().Del("Content-Type")
				json.ServeHTTP(w, r)
			}
		})
	})
}

// A call whose answer is spoilt does no harm to one beside it.
func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	s := breaking(t)
	s.Timeout = 3 * time.Second
	c := connect(t, s, nil)
	first := c.current()
	var wg sync.WaitGroup
	for text, want := range map[string]string{"break off": tool.KindTimeout, "flood": "more than", "busy": "Service Unavailable", "fine": "fine"} {
		wg.Go(func() { expect(t, c, "echo", `{"text":"`+text+`"}`, want) })
	}
	wg.Go(func() { expect(t, c, "sleep", `{"text":"1s"}`, "slept") })
	wg.Wait()
	expect(t, c, "echo", `{"text":"after"}`, "after")
	if c.current() != first {
		t.Error("the connection is another")
	}
}

func TestServerComesBack(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	s := overHTTP(t, newServer(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	c := connect(t, s, nil)
	down.Store(true)
	for range 2 {
		if text, _ := call(t, t.Context(), c, "echo", `{"text":"hi"}`); !strings.Contains(text, KindLost) && !strings.Contains(text, KindUnreachable) {
			t.Error(text)
		}
	}
	down.Store(false)
	expect(t, c, "echo", `{"text":"after"}`, "after")
}

func TestUnauthorized(t *testing.T) {
	t.Parallel()
	s := overHTTP(t, newServer(), func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the token sk-0123456789 has expired", http.StatusUnauthorized)
		})
	})
	s.Bearer = "sk-0123456789"
	var e *Error
	if _, err := Connect(t.Context(), s, nil); !errors.As(err, &e) || !strings.Contains(e.Hint(), "token") || strings.Contains(err.Error(), "sk-") {
		t.Error(err)
	}
}

func TestCloseEndsTheSession(t *testing.T) {
	t.Parallel()
	server := newServer()
	c := connect(t, overHTTP(t, server, nil), nil)
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
	c.Close()
	for range server.Sessions() {
		t.Error("the server has a session left")
	}
}

// A server that is too busy to show that it lives is left alone.
func TestBusy(t *testing.T) {
	t.Parallel()
	server := newServer()
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "ping" {
				<-ctx.Done()
			}
			return next(ctx, method, req)
		}
	})
	c := connect(t, overHTTP(t, server, nil), nil)
	first := c.current()
	var wg sync.WaitGroup
	wg.Go(func() { expect(t, c, "sleep", `{"text":"5s"}`, "slept") })
	eventually(t, func() bool { return c.busy(first) })
	first.suspect.Store(true)
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
	wg.Wait()
	if c.current() != first {
		t.Error("the connection is another")
	}
}

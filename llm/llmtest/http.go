package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
)

// OpenHTTP opens a driver on a base URL with a key.
type OpenHTTP func(t *testing.T, baseURL, key string) llm.Model

// TestHTTP checks the rules of drivers that reach their server over HTTP: what becomes
// of the key, of connections, and of what is no reply.
func TestHTTP(t *testing.T, open OpenHTTP) {
	for _, r := range httpRules {
		t.Run(r.name, func(t *testing.T) { r.check(&httpCheck{t, open, r.because}) })
	}
}

type httpRule struct {
	name, because string
	check         func(*httpCheck)
}

type httpCheck struct {
	*testing.T
	open    OpenHTTP
	because string
}

func (c *httpCheck) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

// secret is the key that no error may show.
const secret = "sk-0123456789-secret"

// patience is for what must end by itself, on a slow machine too.
const patience = 30 * time.Second

// bothText is one event that either protocol reads as a piece of text.
const bothText = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"word"},"choices":[{"index":0,"delta":{"content":"word"}}]}` + "\n\n"

// serve starts a server that reads the request and answers with fn.
func (c *httpCheck) serve(fn http.HandlerFunc) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fn(w, r)
	}))
	c.Cleanup(s.Close)
	return s.URL
}

// body serves fixed bytes.
func (c *httpCheck) body(status int, contentType, body string) string {
	return c.serve(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	})
}

// fail asks once, and wants a *llm.Error.
func (c *httpCheck) fail(baseURL string) (*llm.Error, llm.Model) {
	c.Helper()
	m := c.open(c.T, baseURL, secret)
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	_, err := llm.Collect(m.Stream(ctx, ask("x")))
	var e *llm.Error
	if !errors.As(err, &e) {
		c.Fatalf("the error is %v", err)
	}
	if ctx.Err() != nil {
		c.broken("it came to no end")
	}
	if strings.Contains(err.Error(), secret) {
		c.broken("the error shows the key: %v", err)
	}
	return e, m
}

var httpRules = []httpRule{
	{"says what the server said", "who reads the error must know which server of which model said what", func(c *httpCheck) {
		for _, status := range []int{400, 404, 422, 500, 503} {
			base := c.body(status, "application/json", `{"error":{"message":"no such tool","type":"x"}}`)
			e, m := c.fail(strings.Replace(base, "http://", "http://user:"+secret+"@", 1) + "?key=" + secret)
			if e.Status != status || e.Model != m.String() || e.Message != "no such tool" || !strings.HasPrefix(e.URL, base+"/") || e.Hint() == "" {
				c.broken("HTTP %d gives %#v, hint %q", status, e, e.Hint())
			}
		}
	}},
	{"sends a base URL's query", "gateways want it", func(c *httpCheck) {
		got := make(chan string, 1)
		base := c.serve(func(w http.ResponseWriter, r *http.Request) {
			got <- r.URL.Query().Get("tenant")
			w.WriteHeader(http.StatusTeapot)
		})
		if c.fail(base + "?tenant=a%20b"); <-got != "a b" {
			c.broken("the query did not come")
		}
	}},
	{"shows no key", "errors are logged, kept and shown to others", func(c *httpCheck) {
		echo := func(status int, form string) string {
			return c.serve(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				fmt.Fprintf(w, form, fmt.Sprint(r.Header, r.URL))
			})
		}
		for _, status := range []int{200, 400, 401, 500} {
			for _, form := range []string{`{"error":{"message":%q}}`, "data: {\"type\":\"error\",\"error\":{\"message\":%q}}\n\n", "data: %s\n\n", "<html>%s</html>"} {
				c.fail(echo(status, form) + "?key=" + secret)
			}
		}
		c.fail("http://" + secret + ":" + secret + "@127.0.0.1:1/?key=" + secret) // nobody listens
	}},
	{"takes no key elsewhere", "a redirect may lead to anybody", func(c *httpCheck) {
		for _, status := range []int{301, 302, 303, 307, 308} {
			var asked atomic.Int32
			elsewhere := c.serve(func(http.ResponseWriter, *http.Request) { asked.Add(1) })
			base := c.serve(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere+"/there?key="+secret, status)
			})
			e, _ := c.fail(base)
			if asked.Load() > 0 || e.Retryable() || !strings.Contains(e.Message, elsewhere+"/there") {
				c.broken("HTTP %d: %d requests came to the other server; %v", status, asked.Load(), e)
			}
			if !strings.HasPrefix(e.URL, base+"/") {
				c.broken("HTTP %d: the error says that %s was asked", status, e.URL)
			}
		}
	}},
	{"takes no page for a reply", "portals and proxies answer with 200", func(c *httpCheck) {
		for _, test := range []struct{ contentType, body, want string }{
			{"text/html; charset=utf-8", "<h1>Please log in</h1>", "Please log in"},
			{"application/json", `{"status":"ok"}`, `{"status":"ok"}`},
		} {
			if e, m := c.fail(c.body(200, test.contentType, test.body)); e.Kind != llm.ErrMalformed || e.Model != m.String() || !strings.Contains(e.Message, test.want) {
				c.broken("%s gives %#v", test.body, e)
			}
		}
	}},
	{"knows errors among events", "a reply may fail after it began", func(c *httpCheck) {
		for _, test := range []struct {
			body string
			kind llm.ErrorKind
		}{
			{"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"slow\"}}\n\n", llm.ErrRateLimit},
			{"data: {\"error\":{\"code\":429,\"message\":\"slow\"}}\n\n", llm.ErrRateLimit},
			{"event: ping\n\n: comment\n\ndata:\n\nevent: error\ndata: {\"type\":\"error\",\"message\":\"slow\"}\n\n", llm.ErrServer},
		} {
			if e, m := c.fail(c.body(200, "text/event-stream", test.body)); e.Kind != test.kind || e.Message != "slow" || e.Model != m.String() {
				c.broken("%q gives %#v", test.body, e)
			}
		}
	}},
	{"passes over signs of life", "servers keep connections open with empty events", func(c *httpCheck) {
		for _, body := range []string{"", bothText, "event: ping\n\ndata:\n\ndata: \n\n: comment\n\n" + bothText} {
			if e, m := c.fail(c.body(200, "text/event-stream", body)); e.Kind != llm.ErrConnection || e.Message != "the reply was cut off" || e.Model != m.String() {
				c.broken("%q gives %#v", body, e)
			}
		}
	}},
	{"takes long lines", "a server may send much at once", func(c *httpCheck) {
		for _, n := range []int{100 << 10, 3 << 20} {
			want := strings.Repeat("long ", n/5)
			s := NewServer(c.T, scripted.Reply{Text: want})
			s.SetQuirks(Quirks{OnePiece: true})
			r, err := llm.Collect(c.open(c.T, s.URL+"/v1", secret).Stream(c.Context(), ask("x")))
			if err != nil || r.Chunk.Text() != want {
				c.broken("%d bytes: %v, %v", n, r, err)
			}
		}
	}},
	{"ends what has no end", "memory is finite", func(c *httpCheck) {
		for _, test := range []struct {
			name   string
			status int
			begin  string
			kind   llm.ErrorKind
		}{{"a line", 200, "data: ", llm.ErrMalformed}, {"an error", 500, "", llm.ErrServer}} {
			e, _ := c.fail(c.serve(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(test.status)
				_, err := io.WriteString(w, test.begin)
				for block := strings.Repeat("x", 1<<20); err == nil; {
					_, err = io.WriteString(w, block)
				}
			}))
			if e.Kind != test.kind || len(e.Message) > 1000 {
				c.broken("%s without end gives %.300s", test.name, e)
			}
		}
	}},
	{"lets go of the server", "a run that ended must cost nobody anything", func(c *httpCheck) {
		gone := make(chan struct{}, 1)
		base := c.serve(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, bothText)
			w.(http.Flusher).Flush()
			<-r.Context().Done() // and never goes on
			gone <- struct{}{}
		})
		for _, way := range []struct {
			name    string
			time    time.Duration
			cancels bool
			want    func(error) bool
		}{
			{"left", patience, false, func(err error) bool { return err == nil }},
			{"cancelled", patience, true, func(err error) bool { return errors.Is(err, context.Canceled) }},
			{"out of time", time.Second, false, isTimeout},
		} {
			ctx, cancel := context.WithTimeout(c.Context(), way.time)
			begun := false
			var last error
			for _, err := range c.open(c.T, base, secret).Stream(ctx, ask("x")) {
				if last = err; err != nil {
					break
				}
				if begun = true; way.cancels {
					cancel()
				}
				if way.name == "left" {
					break
				}
			}
			if !way.want(last) {
				c.broken("%s: the error is %v", way.name, last)
			}
			if begun { // on a slow machine, time may be over before
				c.await(gone, way.name)
			}
			cancel()
		}
	}},
}

func isTimeout(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.ErrTimeout
}

func (c *httpCheck) await(gone <-chan struct{}, name string) {
	c.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		c.Fatalf("%s: the connection is still open", name)
	}
}

//go:build unix

package mcptool

//lint:file-ignore SA1019 clients must answer servers of before 2026

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
)

// A schema that leads back to itself would overflow the stack, and end the program.
func TestEndlessSchemas(t *testing.T) {
	t.Parallel()
	object, endless := json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"object","allOf":[{"$ref":"#"}]}`)
	s := listing(&mcp.Tool{Name: "in", InputSchema: endless}, &mcp.Tool{Name: "echo", InputSchema: object, OutputSchema: endless})
	c := connect(t, inMemory(s), nil)
	if len(c.Tools()) != 1 || len(c.Problems()) != 2 {
		t.Fatal(len(c.Tools()), c.Problems())
	}
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
	// A record may have what is not taken any more.
	c.offer(catalog{Tools: []offer{{Name: "echo", Schema: endless, Output: endless}}})
	expect(t, c, "echo", `{"text":"hi"}`, "again")
}

func TestEndlessForm(t *testing.T) {
	t.Parallel()
	s := newServer()
	asking(s, "trap", &mcp.ElicitParams{Message: "?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"allOf":[{"$ref":"#"}]}`)})
	var asked atomic.Int32
	c := connect(t, inMemory(s), &Options{Elicit: func(context.Context, Elicitation) (Answer, error) {
		asked.Add(1)
		return Answer{}, nil
	}})
	if got, _ := call(t, t.Context(), c, "trap", "{}"); asked.Load() != 0 {
		t.Errorf("the form is shown: %s", got)
	}
}

func TestCatalogBudget(t *testing.T) {
	t.Parallel()
	big := json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","enum":["` + strings.Repeat("d", 120_000) + `"]}}}`)
	var tools []*mcp.Tool
	for i := range 50 {
		tools = append(tools, &mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: big, OutputSchema: big})
	}
	c := connect(t, inMemory(listing(tools...)), nil)
	if n := len(c.Tools()); n < 30 || n > 36 || len(c.Problems()) != 1 {
		t.Error(n, c.Problems())
	}
}

func TestHiddenText(t *testing.T) {
	t.Parallel()
	hidden := "\U000E0049\U000E0067\x1b[31m\u202e"
	describe := func(text string) json.RawMessage {
		data, err := json.Marshal(map[string]any{"type": "object", "title": text, "properties": map[string]any{
			"description": map[string]any{"type": "string", "description": text}, "line": map[string]any{"enum": []string{"\r\n"}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	c := connect(t, inMemory(listing(
		&mcp.Tool{Name: "a", InputSchema: describe("x" + hidden)},
		&mcp.Tool{Name: "b", InputSchema: json.RawMessage(`{"type":"object","properties":{"x` + "\u202e" + `":{}}}`)},
	)), nil)
	if len(c.Tools()) != 1 || len(c.Problems()) != 1 {
		t.Fatal(c.Problems())
	}
	var got, want any
	if json.Unmarshal(c.Tools()[0].Schema, &got) != nil || json.Unmarshal(describe("x[31m"), &want) != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s", c.Tools()[0].Schema)
	}
	link := linkOf(&mcp.ResourceLink{URI: "file:///a" + hidden, Name: "n" + hidden, MIMEType: "m" + hidden}).Text
	if strings.ContainsAny(link, "\U000E0049\u202e") || strings.Contains(link, "u001b") {
		t.Errorf("%q", link)
	}
	p, _ := promptOf(&mcp.Prompt{Name: "p", Arguments: []*mcp.PromptArgument{{Name: "a" + hidden}, {Name: "b"}}})
	if len(p.Arguments) != 1 {
		t.Error(p)
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a\U000E0100\U000E0101\ufe00b": "ab",
		"\u2764\ufe0f\ufe0f!":          "\u2764\ufe0f!",
		"\u2764\ufe0f\u200d\U0001F525": "\u2764\ufe0f\u200d\U0001F525",
		"葛\U000E0100\U000E0101":        "葛\U000E0100",
		"a\u200c\u200d\u200c\ufe0fb":   "a\u200cb",
		"می\u200cخواهم":                "می\u200cخواهم",
		"\ufe0fx":                      "x",
	} {
		if got := visible(text); got != want {
			t.Errorf("%+q becomes %+q", text, got)
		}
	}
}

func TestIgnoredHintsOfReaders(t *testing.T) {
	t.Parallel()
	s := inMemory(readable())
	s.IgnoreHints = true
	c := connect(t, s, &Options{Resources: true, Prompts: true})
	for _, tool := range c.Tools() {
		if tool.Class != effect.Mutating {
			t.Error(tool.Name, tool.Class)
		}
	}
}

// A connection is used again, which it only can be when an answer is read to its end.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	s := newServer()
	var made atomic.Int32
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		if r.Method == http.MethodPost {
			time.Sleep(20 * time.Millisecond) // the end comes after the answer
		}
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	c := connect(t, Server{Name: "fake", URL: server.URL}, nil)
	for range 10 {
		expect(t, c, "echo", `{"text":"hi"}`, "hi")
		time.Sleep(60 * time.Millisecond)
	}
	if n := made.Load(); n > 6 {
		t.Errorf("%d connections for 10 calls", n)
	}
}

func TestNamesOfDigests(t *testing.T) {
	t.Parallel()
	got := names("evil", []string{"a_b", "a b", strings.TrimPrefix(withDigest("evil__a_b", "evil__a b"), "evil__")})
	seen := map[string]bool{}
	for _, name := range got {
		seen[name] = true
	}
	if len(seen) != 3 {
		t.Error(got)
	}
}

// locked is a log that may be written to at any time.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestLogOfAnEnd(t *testing.T) {
	t.Parallel()
	var log locked
	c := connect(t, helper(t, "plain"), &Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	k := c.current()
	_, _ = call(t, t.Context(), c, "die", `{"text":""}`)
	<-k.gone
	c.Close()
	if got := log.String(); !strings.Contains(got, "has ended") || strings.Contains(got, "nil") {
		t.Error(got)
	}
}

// dropping is a transport of a server that knows the older protocols only.
type dropping struct{ mcp.Transport }

func (d dropping) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := d.Transport.Connect(ctx)
	return &oldConn{conn}, err
}

func asLegacy(s *mcp.Server) Server {
	return Server{Name: "fake", Transport: func(ctx context.Context) (mcp.Transport, error) {
		here, there := mcp.NewInMemoryTransports()
		_, err := s.Connect(ctx, dropping{there}, nil)
		return here, err
	}}
}

func TestElicitLimit(t *testing.T) {
	t.Parallel()
	s := newServer()
	raw(s, "nag", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		n := 0
		for ; n < 3*elicitLimit; n++ {
			if _, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "?", RequestedSchema: map[string]any{"type": "object"}}); err != nil {
				break
			}
		}
		return said("asked %d times", n)
	})
	c := connect(t, asLegacy(s), &Options{ConnectTimeout: 2 * time.Second, Elicit: func(context.Context, Elicitation) (Answer, error) { return Answer{Action: Accept}, nil }})
	expect(t, c, "nag", "{}", fmt.Sprintf("asked %d times", elicitLimit))
}

func TestRedirectIsNoModels(t *testing.T) {
	t.Parallel()
	s := overHTTP(t, newServer(), func(http.Handler) http.Handler {
		return http.RedirectHandler("http://other.example/mcp", http.StatusTemporaryRedirect)
	})
	_, err := Connect(t.Context(), s, nil)
	if err == nil || strings.Contains(err.Error(), "model") || strings.Contains(err.Error(), "base URL") || !strings.Contains(err.Error(), "redirects to http://other.example/mcp") {
		t.Error(err)
	}
}

func TestKeysInResults(t *testing.T) {
	t.Parallel()
	s := helper(t, "plain")
	s.Env["API_TOKEN"], s.Env["FOLDER"] = "tok-abcdefgh", "/srv/projects"
	c := connect(t, s, nil)
	expect(t, c, "getenv", `{"text":"API_TOKEN"}`, "***")
	expect(t, c, "getenv", `{"text":"FOLDER"}`, "/srv/projects")
}

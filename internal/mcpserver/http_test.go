package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func address(text string) net.Addr {
	a, err := net.ResolveTCPAddr("tcp", text)
	if err != nil {
		panic(err)
	}
	return a
}

// Who may come in: by name, by origin, by token.
func TestAccess(t *testing.T) {
	s := New(fake{}, nil)
	for _, test := range []struct {
		name, at, host, origin, auth string
		access                       Access
		want                         int
	}{
		{name: "this machine", at: "127.0.0.1:80", host: "127.0.0.1:80", want: 200},
		{name: "by name", at: "127.0.0.1:80", host: "localhost:80", want: 200},
		{name: "the sixth", at: "[::1]:80", host: "[::1]:80", want: 200},
		{name: "a name that was made to lead here", at: "127.0.0.1:80", host: "evil.example", want: 403},
		{name: "with the token", at: "127.0.0.1:80", host: "evil.example", auth: "Bearer t", access: Access{Token: "t"}, want: 403},
		{name: "a page", at: "127.0.0.1:80", host: "localhost:80", origin: "https://evil.example", want: 403},
		{name: "a page of another port", at: "127.0.0.1:80", host: "localhost:80", origin: "http://localhost:3000", want: 403},
		{name: "a page of nowhere", at: "127.0.0.1:80", host: "localhost:80", origin: "null", want: 403},
		{name: "its own page", at: "127.0.0.1:80", host: "localhost:80", origin: "http://localhost:80", want: 200},
		{name: "no token", at: "127.0.0.1:80", host: "localhost:80", access: Access{Token: "t"}, want: 401},
		{name: "a wrong one", at: "127.0.0.1:80", host: "localhost:80", auth: "Bearer tt", access: Access{Token: "t"}, want: 401},
		{name: "another scheme", at: "127.0.0.1:80", host: "localhost:80", auth: "Basic t", access: Access{Token: "t"}, want: 401},
		{name: "the right one", at: "127.0.0.1:80", host: "localhost:80", auth: "bearer t", access: Access{Token: "t"}, want: 200},
		{name: "everywhere", at: "0.0.0.0:80", host: "10.0.0.7:80", auth: "Bearer t", access: Access{Token: "t"}, want: 200},
		{name: "everywhere, unknown", at: "0.0.0.0:80", host: "10.0.0.7:80", access: Access{Token: "t"}, want: 401},
		{name: "everywhere, by a name", at: "0.0.0.0:80", host: "other.example", auth: "Bearer t", access: Access{Token: "t"}, want: 403},
		{name: "everywhere, by its name", at: "0.0.0.0:80", host: "rath.example:80", auth: "Bearer t", access: Access{Token: "t", Hosts: []string{"Rath.example"}}, want: 200},
	} {
		h, err := Handler(s, address(test.at), test.access)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
		req.Host = test.host
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		for name, value := range map[string]string{"Origin": test.origin, "Authorization": test.auth} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != test.want {
			t.Errorf("%s: %d %s", test.name, w.Code, w.Body)
		}
	}
	for _, at := range []string{"0.0.0.0:80", "[::]:80", "10.0.0.7:80"} {
		if _, err := Handler(s, address(at), Access{}); !errors.Is(err, ErrNoToken) {
			t.Error(at, err)
		}
	}
}

// waiting runs until it is told to end.
type waiting struct {
	fake
	began, ended chan struct{}
}

func (w waiting) Run(ctx context.Context, _ Running, progress func(string)) (json.RawMessage, error) {
	close(w.began)
	select {
	case <-ctx.Done():
		close(w.ended)
	case <-time.After(5 * time.Second): // for the test to end
	}
	return nil, ctx.Err()
}

// A run whose client gives up is ended, whatever the revision of the protocol.
func TestGivenUp(t *testing.T) {
	for _, version := range []string{"2025-11-25", stateless} {
		w := waiting{began: make(chan struct{}), ended: make(chan struct{})}
		h, err := Handler(New(w, &Options{Run: true}), address("127.0.0.1:80"), Access{})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(h)
		c, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("it speaks %s, not %s", got, version)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-w.began
			cancel()
		}()
		if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "go"}}); err == nil {
			t.Error("a call that was given up has a result")
		}
		select {
		case <-w.ended:
		case <-time.After(3 * time.Second):
			t.Errorf("%s: the run goes on", version)
		}
		c.Close()
		server.CloseClientConnections()
		server.Close()
	}
}

// A client that ends its session ends the run that goes on in it.
func TestSessionEnded(t *testing.T) {
	w := waiting{began: make(chan struct{}), ended: make(chan struct{})}
	h, err := Handler(New(w, &Options{Run: true}), address("127.0.0.1:80"), Access{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	over := &mcp.StreamableClientTransport{Endpoint: server.URL, DisableStandaloneSSE: true}
	c, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil).Connect(t.Context(), over, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	called := make(chan struct{})
	go func() {
		defer close(called)
		_, _ = c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "go"}})
	}()
	<-w.began
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Mcp-Session-Id", c.ID())
	req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	select {
	case <-w.ended:
	case <-time.After(3 * time.Second):
		t.Errorf("the run goes on: %s", res.Status)
	}
	<-called
}

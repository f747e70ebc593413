package mcpserver

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// calls are the requests that go on in sessions over HTTP. The SDK lets those of a session
// that its client ends come to their own ends; here they are ended with it.
type calls struct {
	mu sync.Mutex
	of map[string]map[*context.CancelFunc]bool // by the session's id
}

// middleware keeps hold of the requests that come in.
func (c *calls) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		id := req.GetSession().ID()
		if id == "" { // a protocol without sessions
			return next(ctx, method, req)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer c.add(id, &cancel)()
		return next(ctx, method, req)
	}
}

// add keeps a request until the function that it returns is called.
func (c *calls) add(id string, cancel *context.CancelFunc) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[id] == nil {
		c.of[id] = map[*context.CancelFunc]bool{}
	}
	c.of[id][cancel] = true
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if delete(c.of[id], cancel); len(c.of[id]) == 0 {
			delete(c.of, id)
		}
	}
}

// ending ends the requests of a session that is deleted.
func (c *calls) ending(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodDelete {
			c.end(req.Header.Get("Mcp-Session-Id"))
		}
		next.ServeHTTP(w, req)
	})
}

func (c *calls) end(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for cancel := range c.of[id] {
		(*cancel)()
	}
}

package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Access says who may speak to a server over HTTP.
type Access struct {
	// Token is what every request must bring as its bearer token. Empty: none is wanted,
	// which only an address of this machine may say.
	Token string
	// Hosts are the names that a server goes by which others reach, beside its address.
	Hosts []string
	// Log gets what the transport complains of. nil: nobody.
	Log *slog.Logger
}

// ErrNoToken is returned for a server that others can reach and that wants no token.
var ErrNoToken = errors.New("others can reach the address, and there is no token that they must know")

// idle is how long a client's session is kept that asks nothing.
const idle = 30 * time.Minute

// Handler serves over streamable HTTP. A page in a browser cannot use it: a request with
// an origin other than this server's is refused, and so is one for a name that is not its
// own, as a page whose name was made to lead to this machine sends. It is made once for a
// server, which from then on ends the calls of sessions that their clients end.
func Handler(s *mcp.Server, address net.Addr, a Access) (http.Handler, error) {
	local := isLocal(address.String())
	if !local && a.Token == "" {
		return nil, ErrNoToken
	}
	next := everyRevision(s, a.Log)
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case !a.knows(req.Host, address.String(), local):
			http.Error(w, "this server has another name", http.StatusForbidden)
		case !sameOrigin(req):
			http.Error(w, "pages of other origins may not use this server", http.StatusForbidden)
		case !a.allows(req):
			w.Header().Set("WWW-Authenticate", `Bearer realm="rath"`)
			http.Error(w, "the bearer token is missing or wrong", http.StatusUnauthorized)
		default:
			next.ServeHTTP(w, req)
		}
	}), nil
}

// stateless is the first revision of the protocol that has no sessions: every request says
// all that there is to know of its client.
const stateless = "2026-07-28"

// everyRevision serves clients of before and after sessions were given up.
func everyRevision(s *mcp.Server, log *slog.Logger) http.Handler {
	server := func(*http.Request) *mcp.Server { return s }
	open := &calls{of: map[string]map[*context.CancelFunc]bool{}}
	s.AddReceivingMiddleware(open.middleware)
	before := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Logger: log, SessionTimeout: idle})
	ending := open.ending(before)
	after := mcp.NewStreamableHTTPHandler(server, &mcp.StreamableHTTPOptions{Logger: log, Stateless: true, PropagateRequestCancellation: true})
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Mcp-Protocol-Version") >= stateless { // revisions are dates
			after.ServeHTTP(w, req)
			return
		}
		ending.ServeHTTP(w, req)
	})
}

// isLocal reports whether only this machine reaches a host, with or without a port.
func isLocal(host string) bool {
	name := hostname(host)
	return name == "localhost" || net.ParseIP(name).IsLoopback()
}

func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// knows reports whether a request is for a name of this server. Numbers are never looked
// up, so that nobody else says where they lead.
func (a *Access) knows(host, address string, local bool) bool {
	if slices.ContainsFunc(a.Hosts, func(h string) bool { return hostname(h) == hostname(host) }) {
		return true
	}
	if local {
		return isLocal(host)
	}
	return hostname(host) == hostname(address) || net.ParseIP(hostname(host)) != nil || isLocal(host)
}

// sameOrigin reports whether a request comes from no page, or from one of this server.
func sameOrigin(req *http.Request) bool {
	origin := req.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, req.Host)
}

// allows compares digests, so that the time it takes tells nothing of the token.
func (a *Access) allows(req *http.Request) bool {
	if a.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	got, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(a.Token))
	return strings.EqualFold(scheme, "bearer") && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

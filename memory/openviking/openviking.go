// Package openviking keeps notes on an OpenViking server, over its HTTP API.
//
// It is checked against the documents of OpenViking v0.4.16 and a server made from them, the
// package contract below. It has not been run against a live server; its tests do that where
// the environment names one in OPENVIKING_URL.
//
// The server finds by meaning, makes summaries, reads documents and extracts facts, all of
// it in the background: what was written can be read at once and found a little later, or
// see [Options.Wait]. It keeps a note's text and the time at which it was written last. What
// a note is about or replaces, its importance and its metadata are refused by
// [memory.Store]. Lost are its title and context, its source and times, and who said it: by
// its place a note is a document's or, anywhere else, of unknown trust, which is the least.
// To say something again is no error, to say something else under the same name is
// [driver.ErrExists], and nothing is ended by what is said later.
//
// Scopes are mapped one to one, to what the server calls them itself:
//
//	memory://user/...       viking://user/<user>/...
//	memory://session/...    viking://user/<user>/sessions/...
//	memory://agent/...      viking://agent/..., or viking://user/<user>/peers/<agent>/...
//	memory://resources/...  viking://resources/...
//
// The user is who the server says the key is of. It is spelled out, since the alias ~ is
// refused to root keys and by servers without keys; the spaces of other users have no name
// here. The server takes files with some extensions only, such as .md: a note with another
// name is the file <name>.note.md. What the server would take for something else in a name
// is escaped as in URLs: a dot at the beginning, space at the ends, braces, and the colon of
// a drive. Files that the server has made are notes by their own names.
//
// The server moves nothing atomically, and overwrites what is there: Move looks first, but
// who writes meanwhile is overwritten. Folders without notes stay on the server and are
// listed in the folder above. A folder of more than 100,000 entries is refused, as the API
// has no pages.
//
// An address that is added is fetched by the server, from where it stands in its network:
// see [Options.AllowPrivate]. A folder is uploaded without hidden files, links and folders
// such as node_modules; what a .gitignore names is uploaded.
//
// Next: [github.com/openrath-go/rath/memory/resource], how documents get there.
package openviking

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
)

// Options are the settings of a connection. The zero Options are those of a server of this
// machine that wants no key.
type Options struct {
	APIKey string // sent as X-API-Key; empty: none
	Bearer bool   // send the key as Authorization instead, for gateways

	// Account and User say who asks, for servers and gateways that trust what they are
	// told; elsewhere the key says it.
	Account string
	User    string
	// Agent is whose notes memory://agent has: those about the peer of this name. Empty:
	// viking://agent, where servers let nobody keep anything but skills, endpoints, tools
	// and payments.
	Agent string

	// Wait has a write return when what was written can be found.
	Wait bool
	// Intent has the server think about what a query is after before it looks. That asks
	// its model, and takes longer.
	Intent bool

	// AllowPrivate has the server fetch addresses that are private, or of its own machine.
	// Without it they are refused here where they are spelled out; where a name leads, or a
	// page sends it on to, only the server can know.
	AllowPrivate bool

	// Timeout bounds a call that is answered at once, 30 seconds if it is 0, and LongTimeout
	// one that waits for the server to read or to think, 10 minutes if it is 0.
	Timeout     time.Duration
	LongTimeout time.Duration
	HTTP        *http.Client    // makes the requests; nil: one with connections of its own
	Memory      *memory.Options // of the portable type; nil: the defaults, and the address as its name
}

const (
	defaultTimeout     = 30 * time.Second
	defaultLongTimeout = 10 * time.Minute
)

// Open connects to a server at an address such as "http://localhost:1933", and finds out
// who asks. ctx bounds the opening only.
func Open(ctx context.Context, address string, o *Options) (*memory.Store, error) {
	d, err := New(ctx, address, o)
	if err != nil {
		return nil, &memory.Error{Op: "open", Store: "openviking", Err: err}
	}
	var opts memory.Options
	if o != nil && o.Memory != nil {
		opts = *o.Memory
	}
	opts.Name = cmp.Or(opts.Name, "openviking:"+strings.TrimPrefix(strings.TrimPrefix(address, "https://"), "http://"))
	return memory.New(d, &opts), nil
}

// New is Open for those who want the driver itself.
func New(ctx context.Context, address string, o *Options) (driver.Store, error) {
	c, err := NewClient(address, o)
	if err != nil {
		return nil, err
	}
	status, err := c.Status(ctx)
	if err == nil && !status.Initialized {
		err = fmt.Errorf("%w: it is starting", driver.ErrTransport)
	}
	user := cmp.Or(status.User, c.opts.User, "default")
	if err == nil && strings.ContainsAny(user, "/\\") {
		err = fmt.Errorf("the server calls the user %.40q, which is no segment of a URI", user)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return &store{client: c, names: newNames(user, c.opts.Agent), opts: c.opts}, nil
}

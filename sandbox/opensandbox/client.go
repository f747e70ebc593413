package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// States of a sandbox. Servers may have others.
const (
	StatePending    = "Pending"
	StateRunning    = "Running"
	StatePausing    = "Pausing"
	StatePaused     = "Paused"
	StateResuming   = "Resuming"
	StateStopping   = "Stopping"
	StateTerminated = "Terminated"
	StateFailed     = "Failed"
)

// Client lists and ends the sandboxes of a server. It is safe for concurrent use. Every
// call is bounded in time, by ctx too.
type Client struct{ server }

// NewClient returns the client of a server at a URL such as "http://localhost:8080"; one
// without a scheme is taken for http. A nil client makes connections of its own, which
// Close ends.
func NewClient(serverURL, apiKey string, client *http.Client) (*Client, error) {
	if !strings.Contains(serverURL, "://") {
		serverURL = "http://" + serverURL
	}
	u, err := url.Parse(serverURL)
	if err == nil && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		err = errors.New("it must be like http://localhost:8080")
	}
	if err != nil {
		return nil, fmt.Errorf("the server's URL: %w", err)
	}
	base := strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	if !strings.HasSuffix(base, "/v1") {
		base += "/v1"
	}
	c := &Client{server{base: base, http: newHTTP(client), headers: map[string]string{}}}
	if apiKey != "" {
		c.headers["OPEN-SANDBOX-API-KEY"] = apiKey
	}
	return c, nil
}

// Close ends connections that are idle. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Info is what a server knows of a sandbox.
type Info struct {
	ID         string            `json:"id"`
	Image      *Image            `json:"image,omitzero"`
	SnapshotID string            `json:"snapshotId,omitzero"`
	Status     Status            `json:"status"`
	Metadata   map[string]string `json:"metadata,omitzero"`
	Entrypoint []string          `json:"entrypoint,omitzero"`
	ExpiresAt  time.Time         `json:"expiresAt,omitzero"` // zero: it does not expire
	CreatedAt  time.Time         `json:"createdAt"`
}

// Image is what a sandbox is made from.
type Image struct {
	URI  string     `json:"uri"`
	Auth *ImageAuth `json:"auth,omitzero"`
}

// ImageAuth opens a registry that is not public.
type ImageAuth struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

// Status is the state of a sandbox or snapshot.
type Status struct {
	State   string    `json:"state"`
	Reason  string    `json:"reason,omitzero"`
	Message string    `json:"message,omitzero"`
	Since   time.Time `json:"lastTransitionAt,omitzero"`
}

// over reports whether a sandbox will not run again.
func (s Status) over() bool {
	return s.State == StateStopping || s.State == StateTerminated || s.State == StateFailed
}

func (s Status) String() string {
	text := s.State
	for _, part := range []string{s.Reason, s.Message} {
		if part != "" {
			text += ", " + part
		}
	}
	return text
}

// Filter chooses sandboxes. Its zero value is all.
type Filter struct {
	States   []string          // any of them; nil: all
	Metadata map[string]string // all of it
}

type page[T any] struct {
	Items      []T `json:"items"`
	Pagination struct {
		More bool `json:"hasNextPage"`
	} `json:"pagination"`
}

// List returns the sandboxes that a filter chooses.
func (c *Client) List(ctx context.Context, f Filter) ([]Info, error) {
	query := url.Values{}
	for _, state := range f.States {
		query.Add("state", state)
	}
	if len(f.Metadata) > 0 {
		wanted := url.Values{}
		for key, value := range f.Metadata {
			wanted.Set(key, value)
		}
		query.Set("metadata", wanted.Encode())
	}
	return pages[Info](ctx, c, "/sandboxes", query)
}

func pages[T any](ctx context.Context, c *Client, path string, query url.Values) (all []T, err error) {
	query.Set("pageSize", "100")
	for n := 1; ; n++ {
		query.Set("page", strconv.Itoa(n))
		var p page[T]
		if err := c.call(ctx, http.MethodGet, path, query, nil, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Items...)
		if !p.Pagination.More || len(p.Items) == 0 {
			return all, nil
		}
	}
}

// Get returns one sandbox; one that the server does not know is [ErrNotFound].
func (c *Client) Get(ctx context.Context, id string) (Info, error) {
	var info Info
	err := c.call(ctx, http.MethodGet, sandboxPath(id), nil, nil, &info)
	return info, err
}

// Delete ends a sandbox. One that the server does not know is [ErrNotFound].
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, sandboxPath(id), nil, nil, nil)
}

// Pause stops what runs in a sandbox, keeping all of it, and waits until it is paused.
func (c *Client) Pause(ctx context.Context, id string) error {
	if err := c.call(ctx, http.MethodPost, sandboxPath(id)+"/pause", nil, nil, nil); err != nil {
		return err
	}
	_, err := c.await(ctx, id, StatePaused)
	return err
}

// Resume has a paused sandbox go on, and waits until it runs.
func (c *Client) Resume(ctx context.Context, id string) error {
	if err := c.call(ctx, http.MethodPost, sandboxPath(id)+"/resume", nil, nil, nil); err != nil {
		return err
	}
	_, err := c.await(ctx, id, StateRunning)
	return err
}

// Renew has a sandbox expire later, and returns when. A time that is not later than what
// the sandbox has is refused.
func (c *Client) Renew(ctx context.Context, id string, until time.Time) (time.Time, error) {
	type expiration struct {
		At time.Time `json:"expiresAt"`
	}
	var out expiration
	err := c.call(ctx, http.MethodPost, sandboxPath(id)+"/renew-expiration", nil, expiration{until.UTC()}, &out)
	return out.At, err
}

// await waits until a sandbox has a state. It does not if the sandbox comes to its end.
func (c *Client) await(ctx context.Context, id, state string) (Info, error) {
	return poll(ctx, func() (Info, bool, error) {
		info, err := c.Get(ctx, id)
		if err == nil && info.Status.State != state && info.Status.over() {
			err = &GoneError{id, info.Status.State, info.Status.Reason, errors.New(info.Status.Message)}
		}
		return info, info.Status.State == state, err
	}, "sandbox "+id+" to be "+strings.ToLower(state))
}

// poll asks until there is an answer, more and more rarely. Errors of a server that is
// busy, or that cannot be reached, are waited out.
func poll[T any](ctx context.Context, ask func() (v T, done bool, err error), what string) (v T, err error) {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		v, done, err := ask()
		if done || err != nil && !passing(err) {
			return v, err
		}
		if over := sleep(ctx, wait); over != nil {
			if err != nil {
				over = fmt.Errorf("%w; at last: %w", over, err)
			}
			return v, fmt.Errorf("wait for %s: %w", what, over)
		}
	}
}

// passing reports whether an error may be gone at the next attempt.
func passing(err error) bool {
	var c *connectionError
	var a *APIError
	switch {
	case errors.As(err, &c):
		return true
	case errors.As(err, &a):
		return a.Status == http.StatusTooManyRequests || a.Status >= 500 && a.Status != http.StatusNotImplemented
	}
	return false
}

// Snapshot is what a server has kept of a sandbox, so that others can be made from it.
type Snapshot struct {
	ID        string    `json:"id"`
	SandboxID string    `json:"sandboxId"`
	Name      string    `json:"name,omitzero"`
	Status    Status    `json:"status"`
	CreatedAt time.Time `json:"createdAt"`
}

// Snapshots returns what the server keeps.
func (c *Client) Snapshots(ctx context.Context) ([]Snapshot, error) {
	return pages[Snapshot](ctx, c, "/snapshots", url.Values{})
}

// Snapshot has the server keep a sandbox as it is, and waits until it has. A server that
// keeps none is [sandbox.ErrUnsupported].
func (c *Client) Snapshot(ctx context.Context, id, name string) (Snapshot, error) {
	var taken Snapshot
	in := map[string]string{}
	if name != "" {
		in["name"] = name
	}
	if err := c.call(ctx, http.MethodPost, sandboxPath(id)+"/snapshots", nil, in, &taken); err != nil {
		return taken, err
	}
	return poll(ctx, func() (s Snapshot, done bool, err error) {
		err = c.call(ctx, http.MethodGet, "/snapshots/"+url.PathEscape(taken.ID), nil, nil, &s)
		if err == nil && s.Status.State == StateFailed {
			err = fmt.Errorf("snapshot %s of sandbox %s: %s", s.ID, id, s.Status)
		}
		return s, s.Status.State == "Ready", err
	}, "snapshot "+taken.ID)
}

// DeleteSnapshot has the server forget a snapshot.
func (c *Client) DeleteSnapshot(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodDelete, "/snapshots/"+url.PathEscape(id), nil, nil, nil)
}

// endpoint is where a port of a sandbox can be reached.
func (c *Client) endpoint(ctx context.Context, id string, port int, proxy bool) (*server, error) {
	var out struct {
		Endpoint string            `json:"endpoint"`
		Headers  map[string]string `json:"headers"`
	}
	query := url.Values{"use_server_proxy": {strconv.FormatBool(proxy)}}
	path := fmt.Sprintf("%s/endpoints/%d", sandboxPath(id), port)
	if err := c.call(ctx, http.MethodGet, path, query, nil, &out); err != nil {
		return nil, err
	}
	if out.Endpoint == "" {
		return nil, fmt.Errorf("GET %s: the server names no endpoint", path)
	}
	scheme, _, _ := strings.Cut(c.base, ":")
	base := scheme + "://" + strings.TrimRight(out.Endpoint, "/")
	return &server{base: base, headers: out.Headers, http: c.http}, nil
}

func sandboxPath(id string) string { return "/sandboxes/" + url.PathEscape(id) }

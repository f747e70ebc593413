package openviking

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/memory/driver"
)

// Client makes the calls of the HTTP API, with URIs as the server has them. It is safe for
// concurrent use. Every call is bounded in time, by ctx too. Errors of the server are
// [*APIError]s.
type Client struct {
	base    string // without a slash at its end
	headers map[string]string
	http    *http.Client
	opts    Options
}

// NewClient returns the client of a server. Nothing is sent yet.
func NewClient(address string, o *Options) (*Client, error) {
	c := &Client{headers: map[string]string{}}
	if o != nil {
		c.opts = *o
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("%w: the server's address must be like http://localhost:1933, with the key in Options.APIKey", driver.ErrInvalid)
	}
	c.base = strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/")
	c.http = newHTTP(c.opts.HTTP)
	if c.opts.Timeout <= 0 {
		c.opts.Timeout = defaultTimeout
	}
	if c.opts.LongTimeout <= 0 {
		c.opts.LongTimeout = defaultLongTimeout
	}
	key := "X-API-Key"
	value := c.opts.APIKey
	if c.opts.Bearer && value != "" {
		key, value = "Authorization", "Bearer "+value
	}
	for name, text := range map[string]string{key: value, "X-OpenViking-Account": c.opts.Account, "X-OpenViking-User": c.opts.User} {
		if text != "" {
			c.headers[name] = text
		}
	}
	return c, nil
}

// Close ends connections that are idle, unless the HTTP client was given.
func (c *Client) Close() {
	if c.opts.HTTP == nil {
		c.http.CloseIdleConnections()
	}
}

// Health is what a server says of itself to anybody.
type Health struct {
	Status   string `json:"status"`
	Healthy  bool   `json:"healthy"`
	Version  string `json:"version"`
	AuthMode string `json:"auth_mode"`
}

// Health asks whether the server is well. It needs no key.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	data, err := c.exchange(ctx, get("/health", nil))
	if err == nil {
		err = json.Unmarshal(data, &h)
	}
	if err == nil && !h.Healthy {
		err = fmt.Errorf("%w: it says that it is not healthy", driver.ErrTransport)
	}
	return h, err
}

// Status is what a server knows of who asks.
type Status struct {
	Initialized bool   `json:"initialized"`
	User        string `json:"user"`
}

// Status asks who the server takes us for.
func (c *Client) Status(ctx context.Context) (s Status, err error) {
	return s, c.call(ctx, get("/api/v1/system/status", nil), &s)
}

// File is a file or folder of the server.
type File struct {
	URI      string `json:"uri"`
	Name     string `json:"name"`
	RelPath  string `json:"rel_path"` // in a tree only
	Size     int    `json:"size"`
	IsDir    bool   `json:"isDir"`
	ModTime  any    `json:"modTime"` // see Time
	Abstract string `json:"abstract"`
}

// Time is when it was written last, zero if the server does not say so in a form it has
// documented.
func (f File) Time() time.Time {
	text, _ := f.ModTime.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}

// maxNodes is how many entries a listing may have: the server has no pages.
const maxNodes = 100_000

// List returns what is directly in a folder, with abstracts and without hidden files.
func (c *Client) List(ctx context.Context, uri string) ([]File, error) {
	return c.listing(ctx, "/api/v1/fs/ls", url.Values{"uri": {uri}, "output": {"agent"}})
}

// maxDepth is deeper than any URI.
const maxDepth = driver.MaxURI

// Tree returns all that is in a folder, without hidden files.
func (c *Client) Tree(ctx context.Context, uri string) ([]File, error) {
	return c.listing(ctx, "/api/v1/fs/tree", url.Values{"uri": {uri}, "output": {"original"}, "level_limit": {strconv.Itoa(maxDepth)}})
}

func (c *Client) listing(ctx context.Context, path string, query url.Values) ([]File, error) {
	query.Set("node_limit", strconv.Itoa(maxNodes))
	var files []File
	err := c.call(ctx, get(path, query), &files)
	if err == nil && len(files) >= maxNodes {
		err = fmt.Errorf("%w: list %s: it has %d entries or more", driver.ErrUnsupported, query.Get("uri"), maxNodes)
	}
	return files, err
}

// Stat returns a file or folder.
func (c *Client) Stat(ctx context.Context, uri string) (f File, err error) {
	return f, c.call(ctx, get("/api/v1/fs/stat", url.Values{"uri": {uri}}), &f)
}

// Mkdir makes a folder, and those that it is in.
func (c *Client) Mkdir(ctx context.Context, uri string) error {
	return c.post(ctx, "/api/v1/fs/mkdir", map[string]string{"uri": uri}, nil)
}

// Move gives a file or folder another URI. A file that is there is overwritten.
func (c *Client) Move(ctx context.Context, from, to string) error {
	return c.post(ctx, "/api/v1/fs/mv", map[string]string{"from_uri": from, "to_uri": to}, nil)
}

// Remove takes a file or a folder away. What is not there is no error.
func (c *Client) Remove(ctx context.Context, uri string, recursive bool) error {
	query := url.Values{"uri": {uri}, "recursive": {strconv.FormatBool(recursive)}}
	return c.call(ctx, request{method: http.MethodDelete, path: "/api/v1/fs", query: query}, nil)
}

// Read returns the text of a file.
func (c *Client) Read(ctx context.Context, uri string) (string, error) {
	return c.text(ctx, "read", uri)
}

// Abstract returns what the server has written of a folder in some sentences.
func (c *Client) Abstract(ctx context.Context, uri string) (string, error) {
	return c.text(ctx, "abstract", uri)
}

// Overview returns what the server has written of a folder at more length.
func (c *Client) Overview(ctx context.Context, uri string) (string, error) {
	return c.text(ctx, "overview", uri)
}

func (c *Client) text(ctx context.Context, what, uri string) (text string, err error) {
	return text, c.call(ctx, get("/api/v1/content/"+what, url.Values{"uri": {uri}}), &text)
}

// The modes of a write.
const (
	create  = "create"
	replace = "replace"
)

type writing struct {
	URI     string  `json:"uri"`
	Content string  `json:"content"`
	Mode    string  `json:"mode"`
	Wait    bool    `json:"wait,omitzero"`
	Timeout float64 `json:"timeout,omitzero"` // seconds
}

// Write makes a file in mode "create", or writes one that is there in mode "replace". If
// wait is set it returns when the text can be found.
func (c *Client) Write(ctx context.Context, uri, text, mode string, wait bool) error {
	in := writing{URI: uri, Content: text, Mode: mode}
	if wait {
		in.Wait, in.Timeout = true, c.patience()
	}
	r, err := post("/api/v1/content/write", in)
	if err != nil {
		return err
	}
	r.long = wait
	return c.call(ctx, r, nil)
}

// patience is how long the server may take, in seconds, so that it answers before the call
// ends.
func (c *Client) patience() float64 {
	limit := c.opts.LongTimeout
	return max(limit-5*time.Second, limit/2).Seconds()
}

// post does what is answered at once.
func (c *Client) post(ctx context.Context, path string, in, out any) error {
	r, err := post(path, in)
	if err != nil {
		return err
	}
	return c.call(ctx, r, out)
}

// Search is what to look for.
type Search struct {
	Query string   `json:"query"`
	Under []string `json:"target_uri,omitempty"` // none: the user's own, and the resources
	Limit int      `json:"limit,omitzero"`       // 0: the server's, 10
	Level string   `json:"level,omitempty"`      // "0" abstracts, "1" overviews, "2" texts; several with commas; empty: all
	Since string   `json:"since,omitempty"`      // RFC 3339, or an age like "2h"
	Until string   `json:"until,omitempty"`
	// Session is the server's name of one, in whose light the query is understood; of
	// [Client.Search] only.
	Session string `json:"session_id,omitempty"`
}

// Match is what was found.
type Match struct {
	URI      string  `json:"uri"`
	Type     string  `json:"context_type"` // "memory", "resource", "skill"
	Level    int     `json:"level"`
	Score    float64 `json:"score"`
	Category string  `json:"category"`
	Reason   string  `json:"match_reason"`
	Abstract string  `json:"abstract"`
	Overview string  `json:"overview"`
}

// Matches is an answer, by the type of what was found.
type Matches struct {
	Memories  []Match `json:"memories"`
	Resources []Match `json:"resources"`
	Skills    []Match `json:"skills"`
	Total     int     `json:"total"`
}

// Find looks for what is like a query.
func (c *Client) Find(ctx context.Context, s Search) (Matches, error) {
	s.Session = ""
	return c.look(ctx, "/api/v1/search/find", s, false)
}

// Search has the server's model think about what a query is after, and then looks.
func (c *Client) Search(ctx context.Context, s Search) (Matches, error) {
	return c.look(ctx, "/api/v1/search/search", s, true)
}

func (c *Client) look(ctx context.Context, path string, s Search, long bool) (m Matches, err error) {
	r, err := post(path, s)
	if err != nil {
		return m, err
	}
	r.safe, r.long = true, long
	return m, c.call(ctx, r, &m)
}

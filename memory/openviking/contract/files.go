package contract

import (
	"net/http"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// node is a file or a folder.
type node struct {
	dir  bool
	text string
	time time.Time
	lag  int // requests until it is found
}

var variable = regexp.MustCompile(`\{\w+:\w+\}`)

// resolve checks a URI and writes it out: ~ and the alias for sessions are the user's.
func (s *Server) resolve(uri string) (string, *failure) {
	refuse := func(reason string) (string, *failure) {
		return "", &failure{"INVALID_URI", "Invalid URI: " + uri + " (" + reason + ")", map[string]any{"uri": uri, "reason": reason}}
	}
	uri = strings.TrimSpace(uri)
	rest, ok := strings.CutPrefix(uri, "viking://")
	if !ok {
		return refuse("URI must start with 'viking://'")
	}
	if variable.MatchString(rest) {
		return refuse("path variables are not imitated")
	}
	parts := strings.Split(strings.Trim(rest, "/"), "/")
	switch parts[0] {
	case "", "resources", "agent":
	case "~":
		if s.opts.APIKey == "" {
			return refuse("'~' requires an authenticated user identity")
		}
		parts = append([]string{"user", s.opts.User}, parts[1:]...)
	case "session":
		parts = append([]string{"user", s.opts.User, "sessions"}, parts[1:]...)
	case "user":
		if len(parts) > 1 && slices.Contains([]string{"memories", "resources", "skills", "peers", "privacy", "sessions"}, parts[1]) {
			return refuse("use viking://~/" + strings.Join(parts[1:], "/"))
		}
		if len(parts) > 1 && parts[1] != s.opts.User {
			return "", &failure{"PERMISSION_DENIED", "Access denied for " + uri, map[string]any{"resource": uri}}
		}
	default:
		return refuse("Invalid scope '" + parts[0] + "'. Must be one of: agent, resources, session, user")
	}
	for _, p := range parts {
		if p == "." || p == ".." || strings.Contains(p, "\\") || len(p) > 1 && p[1] == ':' {
			return "", &failure{"PERMISSION_DENIED", "Unsafe URI segment '" + p + "' in " + uri, map[string]any{"resource": uri}}
		}
		if len(p) > 255 {
			return refuse("a component is too long")
		}
	}
	return "viking://" + strings.Join(parts, "/"), nil
}

// at returns what a request's URI names, and the node there; nil if there is none.
func (s *Server) at(uri string) (string, *node, *failure) {
	uri, f := s.resolve(uri)
	if f != nil {
		return "", nil, f
	}
	if uri == "viking://" {
		return uri, &node{dir: true}, nil
	}
	return uri, s.nodes[uri], nil
}

func parent(uri string) string {
	return "viking://" + strings.TrimPrefix(path.Dir("/"+strings.TrimPrefix(uri, "viking://")), "/")
}

// put makes a file and the folders that it is in.
func (s *Server) put(uri, text string, wait bool) {
	n := &node{text: text, time: s.opts.Now(), lag: s.opts.Lag}
	if wait {
		n.lag = 0
	}
	s.nodes[uri] = n
	s.makeDir(parent(uri))
}

func (s *Server) makeDir(uri string) {
	for ; uri != "viking://" && s.nodes[uri] == nil; uri = parent(uri) {
		s.nodes[uri] = &node{dir: true, time: s.opts.Now()}
	}
}

// within returns the URIs below a folder, in order.
func (s *Server) within(uri string) []string {
	prefix := strings.TrimSuffix(uri, "/") + "/"
	var list []string
	for u := range s.nodes {
		if strings.HasPrefix(u, prefix) && u != uri {
			list = append(list, u)
		}
	}
	sort.Strings(list)
	return list
}

func hidden(rel string) bool {
	return strings.HasPrefix(rel, ".") || strings.Contains(rel, "/.")
}

// describe is an entry of a listing.
func (s *Server) describe(uri string, agent bool) map[string]any {
	n := s.nodes[uri]
	size, mode := len(n.text), 0o100644
	if n.dir {
		size, mode = 4096, 0o40755
	}
	e := map[string]any{"name": path.Base(uri), "size": size, "modTime": n.time.UTC().Format(time.RFC3339Nano), "isDir": n.dir, "uri": uri}
	if agent {
		e["abstract"] = abstractOf(n.text)
	} else {
		e["mode"] = mode
	}
	return e
}

// abstractOf is what an index keeps of a text.
func abstractOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if len(line) > 256 {
		line = strings.ToValidUTF8(line[:256], "") + "..."
	}
	return line
}

func (s *Server) ls(r *http.Request) (any, *failure) {
	return s.listing(r, 1, "uri", "simple", "recursive", "output", "abs_limit", "show_all_hidden", "node_limit", "sort_by", "sort_order")
}

func (s *Server) tree(r *http.Request) (any, *failure) {
	depth, err := strconv.Atoi(r.URL.Query().Get("level_limit"))
	if err != nil {
		depth = 3
	}
	return s.listing(r, depth, "uri", "output", "abs_limit", "show_all_hidden", "node_limit", "level_limit")
}

func (s *Server) listing(r *http.Request, depth int, known ...string) (any, *failure) {
	if f := query(r, known...); f != nil {
		return nil, f
	}
	q := r.URL.Query()
	uri, n, f := s.at(q.Get("uri"))
	switch {
	case f != nil:
		return nil, f
	case n == nil:
		return nil, notFound(uri, "file")
	case !n.dir:
		return nil, &failure{"FAILED_PRECONDITION", "not a directory: " + uri, map[string]any{"resource": uri}}
	}
	limit, err := strconv.Atoi(q.Get("node_limit"))
	if err != nil {
		limit = 1000
	}
	list := []any{}
	for _, u := range s.within(uri) {
		rel := strings.TrimPrefix(strings.TrimPrefix(u, uri), "/")
		if strings.Count(rel, "/") >= depth || hidden(rel) || len(list) == limit {
			continue
		}
		e := s.describe(u, q.Get("output") != "original")
		if depth > 1 {
			e["rel_path"] = rel
		}
		list = append(list, e)
	}
	return list, nil
}

func (s *Server) stat(r *http.Request) (any, *failure) {
	if f := query(r, "uri"); f != nil {
		return nil, f
	}
	uri, n, f := s.at(r.URL.Query().Get("uri"))
	if f == nil && n == nil {
		f = notFound(uri, "file")
	}
	if f != nil {
		return nil, f
	}
	e := map[string]any{"name": "", "isDir": true, "uri": uri}
	if s.nodes[uri] != nil {
		e = s.describe(uri, false)
	}
	e["isLocked"] = false
	if n.dir {
		e["count"] = len(s.within(uri))
	}
	return e, nil
}

// mutable refuses what nobody may write.
func mutable(uri string) *failure {
	parts := strings.Split(strings.TrimPrefix(uri, "viking://"), "/")
	deny := func(message string) *failure {
		return &failure{"PERMISSION_DENIED", message, map[string]any{"resource": uri}}
	}
	switch {
	case uri == "viking://" || uri == "viking://user":
		return deny("Writing " + uri + " is not supported")
	case parts[0] == "agent" && len(parts) < 2:
		return deny("Writing to viking://agent root is not supported.")
	case parts[0] == "agent" && !slices.Contains([]string{"skills", "endpoints", "tools", "payments"}, parts[1]):
		return deny("viking://agent/{agent_id} is deprecated. Use viking://user/.../peers/{agent_id} instead.")
	}
	return nil
}

func (s *Server) mkdir(r *http.Request) (any, *failure) {
	var in struct {
		URI         string  `json:"uri"`
		Description *string `json:"description"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	uri, n, f := s.at(in.URI)
	if f == nil {
		f = mutable(uri)
	}
	if f == nil && n != nil {
		f = &failure{"CONFLICT", "already exists: " + uri, map[string]any{"resource": uri}}
	}
	if f != nil {
		return nil, f
	}
	s.makeDir(uri)
	return map[string]any{"uri": uri}, nil
}

// rm succeeds where nothing is.
func (s *Server) rm(r *http.Request) (any, *failure) {
	if f := query(r, "uri", "recursive", "wait", "timeout"); f != nil {
		return nil, f
	}
	uri, n, f := s.at(r.URL.Query().Get("uri"))
	switch {
	case f != nil:
		return nil, f
	case slices.Contains([]string{"viking://", "viking://user", "viking://agent", "viking://resources", s.home()}, uri):
		return nil, &failure{"PERMISSION_DENIED", "Deleting " + uri + " is not supported", map[string]any{"resource": uri}}
	case n == nil:
		return map[string]any{"uri": uri, "estimated_deleted_count": 0}, nil
	case n.dir && r.URL.Query().Get("recursive") != "true":
		return nil, &failure{"FAILED_PRECONDITION", "Cannot remove directory without --recursive: " + uri, map[string]any{"resource": uri, "expected_flag": "recursive"}}
	}
	all := append(s.within(uri), uri)
	if !n.dir {
		all = []string{uri}
	}
	for _, u := range all {
		delete(s.nodes, u)
	}
	return map[string]any{"uri": uri, "estimated_deleted_count": len(all)}, nil
}

// mv writes over a file that is there.
func (s *Server) mv(r *http.Request) (any, *failure) {
	var in struct {
		From string `json:"from_uri"`
		To   string `json:"to_uri"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	from, n, f := s.at(in.From)
	var to string
	var target *node
	if f == nil {
		to, target, f = s.at(in.To)
	}
	if f == nil {
		f = mutable(to)
	}
	switch {
	case f != nil:
		return nil, f
	case n == nil:
		return nil, notFound(from, "file")
	case s.nodes[parent(to)] == nil:
		return nil, notFound(parent(to), "directory")
	case !n.dir && target != nil && target.dir:
		return nil, invalid("mv destination for a file must include the target file name: %s", to)
	}
	for _, u := range append(s.within(from), from) {
		moved := s.nodes[u]
		delete(s.nodes, u)
		s.nodes[to+strings.TrimPrefix(u, from)] = moved
	}
	return map[string]any{"from": from, "to": to}, nil
}

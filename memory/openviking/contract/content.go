package contract

import (
	"cmp"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

func (s *Server) read(r *http.Request) (any, *failure) {
	if f := query(r, "uri", "offset", "limit", "raw"); f != nil {
		return nil, f
	}
	uri, n, f := s.at(r.URL.Query().Get("uri"))
	switch {
	case f != nil:
		return nil, f
	case n == nil:
		return nil, notFound(uri, "file")
	case n.dir:
		return nil, &failure{"INVALID_ARGUMENT", "is a directory: " + uri, map[string]any{"expected": "file", "actual": "directory", "resource": uri}}
	}
	return n.text, nil
}

func (s *Server) abstract(r *http.Request) (any, *failure) {
	names, uri, f := s.inside(r)
	if f != nil {
		return nil, f
	}
	return path.Base(uri) + " has " + strings.Join(names, ", "), nil
}

func (s *Server) overview(r *http.Request) (any, *failure) {
	names, uri, f := s.inside(r)
	if f != nil {
		return nil, f
	}
	return "## " + path.Base(uri) + "\n\n- " + strings.Join(names, "\n- "), nil
}

// inside returns the names of what is in a folder; of a file, in the one that it is in.
func (s *Server) inside(r *http.Request) (names []string, uri string, f *failure) {
	if f := query(r, "uri"); f != nil {
		return nil, "", f
	}
	uri, n, f := s.at(r.URL.Query().Get("uri"))
	if f == nil && n == nil {
		f = notFound(uri, "directory")
	}
	if f != nil {
		return nil, uri, f
	}
	if !n.dir {
		uri = parent(uri)
	}
	for _, u := range s.within(uri) {
		if rel := strings.TrimPrefix(u, uri+"/"); !hidden(rel) {
			names = append(names, rel)
		}
	}
	return names, uri, nil
}

var creatable = []string{".md", ".txt", ".json", ".yaml", ".yml", ".toml", ".py", ".js", ".ts"}

func (s *Server) write(r *http.Request) (any, *failure) {
	var in struct {
		URI        string   `json:"uri"`
		Content    *string  `json:"content"`
		Mode       string   `json:"mode"`
		Wait       bool     `json:"wait"`
		Timeout    *float64 `json:"timeout"`
		Processing string   `json:"processing_mode"`
		Telemetry  any      `json:"telemetry"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	if in.Content == nil {
		return nil, violation("Field required", "missing", "body", "content")
	}
	uri, n, f := s.at(in.URI)
	if f == nil {
		f = s.mayWrite(uri, in.Mode, n)
	}
	if f != nil {
		return nil, f
	}
	text := *in.Content
	if in.Mode == "append" {
		text = n.text + text
	}
	s.put(uri, text, in.Wait)
	status := "queued"
	if in.Wait {
		status = "complete"
	}
	return map[string]any{
		"uri": uri, "root_uri": parent(uri), "context_type": contextType(uri), "mode": in.Mode, "written_bytes": len(*in.Content),
		"content_updated": true, "semantic_status": status, "vector_status": status,
	}, nil
}

func (s *Server) mayWrite(uri, mode string, there *node) *failure {
	if f := mutable(uri); f != nil {
		return f
	}
	parts := strings.Split(strings.TrimPrefix(uri, "viking://"), "/")
	content := slices.Contains(parts, "memories") || slices.Contains(parts, "resources")
	switch {
	case parts[0] == "user" && !content && (len(parts) <= 2 || slices.Contains([]string{"skills", "peers", "privacy", "sessions"}, parts[2])):
		return invalid("user-scope writes need a file under memories/, resources/, or directly at the user root: %s", uri)
	case there != nil && there.dir:
		return &failure{"INVALID_ARGUMENT", "is a directory: " + uri, map[string]any{"expected": "file", "actual": "directory", "resource": uri}}
	case s.nodes[parent(uri)] != nil && !s.nodes[parent(uri)].dir:
		return &failure{"FAILED_PRECONDITION", "not a directory: " + parent(uri), map[string]any{"resource": uri}}
	case mode == "create" && !slices.Contains(creatable, strings.ToLower(path.Ext(uri))):
		return invalid("create mode does not allow extension '%s': %s", path.Ext(uri), uri)
	case mode == "create" && there != nil:
		return &failure{"ALREADY_EXISTS", "File already exists: " + uri, map[string]any{"resource": uri, "type": "file"}}
	case mode == "create":
		return nil
	case mode != "replace" && mode != "append":
		return invalid("unsupported write mode: %s", mode)
	case there == nil:
		return notFound(uri, "file")
	}
	return nil
}

func contextType(uri string) string {
	if strings.Contains(uri, "/memories/") {
		return "memory"
	}
	if strings.Contains(uri, "/skills/") {
		return "skill"
	}
	return "resource"
}

// searching is what find takes; search takes a session, too.
type searching struct {
	Query       string   `json:"query"`
	Target      any      `json:"target_uri"`
	ContextType any      `json:"context_type"`
	Limit       *int     `json:"limit"`
	NodeLimit   *int     `json:"node_limit"`
	Threshold   *float64 `json:"score_threshold"`
	Filter      any      `json:"filter"`
	Provenance  bool     `json:"include_provenance"`
	Tags        []string `json:"tags"`
	Since       string   `json:"since"`
	Until       string   `json:"until"`
	TimeField   string   `json:"time_field"`
	Level       any      `json:"level"`
	Telemetry   any      `json:"telemetry"`
}

func (s *Server) find(r *http.Request) (any, *failure) {
	var in searching
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	return s.matches(in)
}

func (s *Server) search(r *http.Request) (any, *failure) {
	var in struct {
		searching
		Session string `json:"session_id"`
		Mode    string `json:"mode"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	if known := s.sessions[in.Session]; known != nil { // its last word is part of the query
		for _, m := range known.messages[max(0, len(known.messages)-1):] {
			in.Query += " " + m.text()
		}
	}
	out, f := s.matches(in.searching)
	if f == nil {
		out["query_plan"] = map[string]any{"queries": []string{in.Query}}
	}
	return out, f
}

// targets are the folders to look in.
func (s *Server) targets(target any) ([]string, *failure) {
	var list []string
	switch t := target.(type) {
	case string:
		list = []string{t}
	case []any:
		for _, v := range t {
			u, _ := v.(string)
			list = append(list, u)
		}
	}
	if len(list) == 0 || len(list) == 1 && list[0] == "" {
		return []string{s.home(), "viking://resources"}, nil
	}
	for i, u := range list {
		var f *failure
		if list[i], f = s.resolve(u); f != nil {
			return nil, f
		}
	}
	return list, nil
}

// matches finds files as an index of vectors does: all of them, those that share words with
// the query first. What the index has not taken in is not found.
func (s *Server) matches(in searching) (map[string]any, *failure) {
	if strings.TrimSpace(in.Query) == "" {
		return nil, invalid("query must not be empty")
	}
	targets, f := s.targets(in.Target)
	if f != nil {
		return nil, f
	}
	since, until, f := bounds(in)
	if f != nil {
		return nil, f
	}
	var found []map[string]any
	for _, target := range targets {
		for _, u := range append(s.within(target), target) {
			n := s.nodes[u]
			if n == nil || n.dir || n.lag > 0 || hidden(path.Base(u)) || strings.Contains(u, "/sessions/") || n.time.Before(since) || !n.time.Before(until) {
				continue
			}
			found = append(found, map[string]any{
				"context_type": contextType(u), "uri": u, "level": 2, "score": overlap(in.Query, n.text), "category": "", "match_reason": "",
				"abstract": abstractOf(n.text), "overview": nil,
			})
		}
	}
	slices.SortStableFunc(found, func(a, b map[string]any) int { return cmp.Compare(b["score"].(float64), a["score"].(float64)) })
	limit := 10
	if in.Limit != nil {
		limit = *in.Limit
	}
	found = found[:min(len(found), limit)]
	return byType(found), nil
}

func byType(found []map[string]any) map[string]any {
	out := map[string]any{"memories": []any{}, "resources": []any{}, "skills": []any{}, "total": len(found)}
	for list, kind := range map[string]string{"memories": "memory", "resources": "resource", "skills": "skill"} {
		for _, m := range found {
			if m["context_type"] == kind {
				out[list] = append(out[list].([]any), m)
			}
		}
	}
	return out
}

func bounds(in searching) (since, until time.Time, f *failure) {
	until = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, at := range map[string]*time.Time{in.Since: &since, in.Until: &until} {
		if text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return since, until, invalid("Invalid time: %s", strconv.Quote(text))
		}
		*at = t
	}
	return since, until, nil
}

// overlap is how much of a query's words a text has, the shorter text the better.
func overlap(query, text string) float64 {
	have := map[string]bool{}
	words := terms(text)
	for _, w := range words {
		have[w] = true
	}
	hits, all := 0, terms(query)
	for _, w := range all {
		if have[w] {
			hits++
		}
	}
	return 0.01 + 0.9*float64(hits)/float64(max(len(all), 1))*(1-float64(min(len(words), 1000))/2000)
}

// terms are the words of a text, and each character of writing without spaces.
func terms(text string) []string {
	var spaced strings.Builder
	for _, r := range strings.ToLower(text) {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			spaced.WriteString(" " + string(r) + " ")
		} else {
			spaced.WriteRune(r)
		}
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

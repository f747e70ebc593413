package openviking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory/driver"
)

// defaultSnippet is how long a snippet is, in runes.
const defaultSnippet = 400

// Find has the server find texts by their meaning; its abstracts are the snippets.
func (s *store) Find(ctx context.Context, q driver.Query) (driver.Found, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return driver.Found{}, err
	}
	in, err := s.search(q)
	if err != nil {
		return driver.Found{}, err
	}
	look := s.client.Find
	if s.opts.Intent {
		look = s.client.Search
	}
	found, err := look(ctx, in)
	if err != nil {
		return driver.Found{}, err
	}
	hits, err := s.hits(ctx, q, slices.Concat(found.Memories, found.Resources, found.Skills))
	return driver.Found{Hits: hits, Match: "meaning"}, err
}

// textLevel is that of files; the other levels are summaries of folders.
const textLevel = "2"

// search says a query in the server's words.
func (s *store) search(q driver.Query) (Search, error) {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return Search{}, fmt.Errorf("%w: the server finds nothing without words", driver.ErrUnsupported)
	case q.Match == driver.MatchWords:
		return Search{}, fmt.Errorf("%w: the server finds by meaning, not by words", driver.ErrUnsupported)
	case len(q.Meta) > 0 || len(q.Trust) > 0:
		return Search{}, fmt.Errorf("%w: the server knows no metadata and no trust", driver.ErrUnsupported)
	}
	in := Search{Query: q.Text, Limit: q.Limit, Level: textLevel, Since: stamp(q.Since), Until: stamp(q.Until)}
	for _, u := range q.Under {
		if u == driver.Root {
			in.Under = nil
			break
		}
		remote, err := s.names.folder(u)
		if err != nil {
			return Search{}, err
		}
		in.Under = append(in.Under, remote)
	}
	return in, nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// hits are the matches that have a name here, the best first, a file once.
func (s *store) hits(ctx context.Context, q driver.Query, matches []Match) ([]driver.Hit, error) {
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	var hits []driver.Hit
	seen := make(map[driver.URI]bool)
	for _, m := range matches {
		u, ok := s.names.note(m.URI)
		if !ok || seen[u] || !within(u, q.Under) {
			continue
		}
		if len(hits) == q.Limit {
			break
		}
		h, err := s.hit(ctx, u, m, q.Snippet)
		if errors.Is(err, driver.ErrNotFound) { // it is gone, and the index does not know yet
			continue
		}
		if err != nil {
			return nil, err
		}
		seen[u] = true
		hits = append(hits, h)
	}
	return hits, nil
}

func within(u driver.URI, folders []driver.URI) bool {
	return len(folders) == 0 || slices.ContainsFunc(folders, u.In)
}

// hit makes a hit of a match, with the text itself if the server has no abstract.
func (s *store) hit(ctx context.Context, u driver.URI, m Match, runes int) (driver.Hit, error) {
	h := driver.Hit{Note: driver.Note{URI: u, Trust: trust(u)}, Score: m.Score, Meaning: m.Score}
	if m.Type == "resource" {
		h.Trust = driver.TrustResource
	}
	h.Snippet = cmp.Or(m.Abstract, m.Overview)
	if h.Snippet == "" {
		text, err := s.client.Read(ctx, m.URI)
		if isFolder(err) {
			err = fmt.Errorf("%w: %s is a folder", driver.ErrNotFound, u)
		}
		if err != nil {
			return h, err
		}
		h.Snippet, h.Whole = text, true
	}
	limit := cmp.Or(runes, defaultSnippet)
	if utf8.RuneCountInString(h.Snippet) > limit {
		h.Snippet, h.Whole = string([]rune(h.Snippet)[:limit])+"…", false
	}
	return h, nil
}

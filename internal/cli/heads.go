package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
)

// listed is a session in a list.
type listed struct {
	session.Head
	inFile  bool
	partial bool
	text    string // of its last chunk, where it is in a file
	problem error  // why the file cannot be read
}

// selection says which sessions are listed.
type selection struct {
	store.SessionFilter
	keep  func(session.Head) bool // nil: all
	limit int                     // of the newest; 0: all
}

func (s selection) match(h session.Head) bool {
	f := graph.Filter{Run: s.Run, Path: s.Path, Op: s.Op, Since: s.Since, Until: s.Until}
	if h.Lineage.Time.IsZero() && !s.Until.IsZero() {
		return false // what has no time is not before it
	}
	return f.Match(h) && (s.keep == nil || s.keep(h))
}

// list returns sessions of the store and of the files, the newest first.
func (r *records) list(ctx context.Context, s selection) ([]listed, error) {
	heads, err := r.newestHeads(ctx, s)
	if err != nil {
		return nil, err
	}
	all := make([]listed, len(heads))
	for i, h := range heads {
		h.Lineage.Extras = jsonl.Notes(h.Lineage.Extras)
		all[i] = listed{Head: h, partial: jsonl.IsPartial(heads[i].Lineage)}
	}
	if len(s.AncestorsOf) > 0 {
		return all, nil
	}
	files, err := r.listFiles(ctx, s)
	if err != nil {
		return nil, err
	}
	all = append(all, files...)
	slices.SortStableFunc(all, func(a, b listed) int {
		return cmp.Or(compareProblems(a, b), newerFirst(a.Head, b.Head))
	})
	return first(all, s.limit), nil
}

// compareProblems puts what cannot be read last, which is first among the newest: its
// time is not known, and it wants to be seen.
func compareProblems(a, b listed) int {
	switch {
	case a.problem != nil && b.problem == nil:
		return -1
	case a.problem == nil && b.problem != nil:
		return 1
	}
	return 0
}

func first[T any](all []T, n int) []T {
	if n > 0 {
		return all[:min(n, len(all))]
	}
	return all
}

// listFiles reads the session files that are not in the store.
func (r *records) listFiles(ctx context.Context, s selection) (all []listed, err error) {
	infos, err := r.files.List()
	if err != nil {
		return nil, err
	}
	for _, info := range slices.Backward(infos) {
		if s.limit > 0 && len(all) == s.limit {
			break
		}
		kept, err := r.sessionIDs(ctx, info.ID.String())
		if err != nil {
			return nil, err
		}
		if l := read(info); len(kept) == 0 && (l.problem != nil || s.match(l.Head)) {
			all = append(all, l)
		}
	}
	return all, nil
}

func read(info jsonl.Info) listed {
	l := listed{Head: session.Head{ID: info.ID}, inFile: true, partial: info.Partial}
	f, err := jsonl.Open(info.Path)
	if err != nil {
		l.problem = err
		return l
	}
	s, err := f.Session()
	if err != nil {
		l.problem = err
		return l
	}
	l.Head, l.text = s.Head(), s.Text()
	return l
}

// windows are how far back what is newest is looked for, at first.
var windows = []time.Duration{time.Hour, 30 * 24 * time.Hour}

// newestHeads returns the newest sessions of the store, the newest first. Their ids do
// not tell: those of prompts are digests, and those of imported sessions random.
func (r *records) newestHeads(ctx context.Context, s selection) (heads []session.Head, err error) {
	since := []time.Time{s.Since}
	if s.limit > 0 {
		for _, w := range windows {
			if t := time.Now().Add(-w); t.After(s.Since) {
				since = slices.Insert(since, len(since)-1, t)
			}
		}
	}
	for _, t := range since {
		f := s.SessionFilter
		f.Since = t
		if heads, err = collect(r.Heads(ctx, f)); err != nil {
			return nil, err
		}
		heads = slices.DeleteFunc(heads, func(h session.Head) bool { return !s.match(h) })
		if s.limit > 0 && len(heads) >= s.limit {
			break
		}
	}
	slices.SortFunc(heads, newerFirst)
	return first(heads, s.limit), nil
}

func newerFirst(a, b session.Head) int {
	return cmp.Or(b.Lineage.Time.Compare(a.Lineage.Time), slices.Compare(b.ID[:], a.ID[:]))
}

// lineage returns a session and all that it comes from, the newest first.
func (r *records) lineage(ctx context.Context, s found, f store.SessionFilter) ([]listed, error) {
	if !s.inFile {
		f.AncestorsOf = []session.ID{s.ID()}
		return r.list(ctx, selection{SessionFilter: f})
	}
	match := selection{SessionFilter: f}.match
	var all []listed
	for a := range s.Ancestors() {
		if h := a.Head(); match(h) {
			all = append(all, listed{Head: h, inFile: true})
		}
	}
	if h := s.Head(); match(h) {
		all = append(all, listed{Head: h, inFile: true, partial: s.partial})
	}
	slices.SortFunc(all, func(a, b listed) int { return newerFirst(a.Head, b.Head) })
	return all, nil
}

func (l listed) kind() string {
	kind := l.Lineage.Op.String()
	if l.partial {
		kind += " (partial)"
	}
	return strings.TrimSpace(kind)
}

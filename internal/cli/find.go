package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
)

// idHelp is how the help of commands explains ids.
const idHelp = "An ID may be shortened to a beginning that no other has; @ is the newest."

// ref is how a user names a session: the beginning of its id, or @ for the newest; with
// @N after it, only its first N chunks.
type ref struct {
	text string
	id   string
	n    int // chunks; -1: all
}

var refForm = regexp.MustCompile(`^(@|[0-9a-fA-F-]+)(?:@([0-9]+))?$`)

func parseRef(text string) (ref, error) {
	m := refForm.FindStringSubmatch(text)
	if m == nil {
		return ref{}, &hinted{fmt.Errorf("session %q: %w", text, errNoSession), "name it by its id, as rath ls lists them, or @ for the newest; ID@N is its first N chunks"}
	}
	r := ref{text: text, id: strings.ToLower(m[1]), n: -1}
	if m[2] != "" {
		var err error
		if r.n, err = strconv.Atoi(m[2]); err != nil {
			return ref{}, usage(fmt.Errorf("session %q: %s is too many chunks", text, m[2]))
		}
	}
	return r, nil
}

var (
	errNoSession = errors.New("no such session")
	errNoRun     = errors.New("no such run")
)

// found is a session that the user has named, whole, and how much of it is meant.
type found struct {
	session.Session
	n       int // chunks
	partial bool
	inFile  bool // and not in the store
}

// prefix returns what is meant, as a session: a branch, if it is not the whole.
func (f found) prefix() (session.Session, error) {
	if f.n == f.Len() {
		return f.Session, nil
	}
	return f.branch()
}

// branch begins a branch with what is meant.
func (f found) branch() (session.Session, error) {
	s, err := f.ForkAt(f.n)
	if errors.Is(err, session.ErrCutCall) {
		err = usage(&hinted{err, "it can be cut at " + strings.Join(f.cuts(), " or at ") + "; rath show " + f.ID().String() + " numbers the chunks"})
	}
	return s, err
}

// cuts are the nearest places before and after where no call is parted from its result.
func (f found) cuts() (places []string) {
	for _, step := range []int{-1, 1} {
		for n := f.n + step; n > 0 && n <= f.Len(); n += step {
			if _, err := f.ForkAt(n); err == nil {
				places = append(places, fmt.Sprintf("%s@%d", f.ID(), n))
				break
			}
		}
	}
	return places
}

// session finds a session, in the store first.
func (r *records) session(ctx context.Context, text string) (found, error) {
	name, err := parseRef(text)
	if err != nil {
		return found{}, err
	}
	f, err := r.find(ctx, name.id)
	if err != nil {
		return f, r.maybeRun(ctx, name.id, err)
	}
	f.n = f.Len()
	if name.n > f.Len() {
		return f, usage(&hinted{fmt.Errorf("session %s has only %s", f.ID(), plural(f.Len(), "chunk")), "rath show " + name.id + " numbers them"})
	}
	if name.n >= 0 {
		f.n = name.n
	}
	return f, nil
}

// maybeRun adds to an error that the id is that of a run.
func (r *records) maybeRun(ctx context.Context, id string, err error) error {
	if !errors.Is(err, errNoSession) {
		return err
	}
	runs, runErr := collect(r.Runs(ctx, store.RunFilter{Prefix: id, Limit: 2}))
	if runErr != nil || len(runs) != 1 {
		return err
	}
	return &hinted{fmt.Errorf("%w, but there is such a run", err), "rath runs show " + runs[0].ID.String()}
}

func (r *records) find(ctx context.Context, id string) (found, error) {
	if id == "@" {
		return r.newest(ctx)
	}
	ids, err := r.sessionIDs(ctx, id)
	if err != nil {
		return found{}, err
	}
	infos, err := r.files.FindAll(id)
	if err != nil {
		return found{}, err
	}
	for _, info := range infos {
		if !slices.Contains(ids, info.ID) {
			ids = append(ids, info.ID)
		}
	}
	one, err := only("session", id, ids, errNoSession, "rath ls lists the sessions")
	if err != nil {
		return found{}, err
	}
	return r.load(ctx, one)
}

// sessionIDs returns the ids in the store that begin alike, a few of them.
func (r *records) sessionIDs(ctx context.Context, prefix string) (ids []session.ID, err error) {
	for h, err := range r.Heads(ctx, store.SessionFilter{Prefix: prefix, Limit: shownIDs + 1}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, h.ID)
	}
	return ids, nil
}

// shownIDs is how many ids are shown where one is meant.
const shownIDs = 5

// only returns the one id, or says that there is none or more of them.
func only(noun, text string, ids []session.ID, none error, hint string) (session.ID, error) {
	switch len(ids) {
	case 0:
		return session.ID{}, &hinted{fmt.Errorf("%s %q: %w", noun, text, none), hint}
	case 1:
		return ids[0], nil
	}
	var shown []string
	for _, id := range ids[:min(len(ids), shownIDs)] {
		shown = append(shown, id.String())
	}
	return session.ID{}, &hinted{fmt.Errorf("%s %q: %w", noun, text, store.ErrAmbiguous), "give more of it: " + strings.Join(shown, ", ")}
}

// load reads a session that is there.
func (r *records) load(ctx context.Context, id session.ID) (found, error) {
	s, err := r.Session(ctx, id)
	if err == nil || !errors.Is(err, store.ErrNotFound) {
		return found{Session: s, partial: jsonl.IsPartial(s.Lineage())}, err
	}
	info, err := r.files.Find(id.String())
	if err == nil {
		s, err = r.files.Import(id.String())
	}
	if err != nil && hintOf(err) == "" {
		err = &hinted{err, "the file is no whole session: rath ls lists the others"}
	}
	return found{Session: s, partial: info.Partial, inFile: true}, err
}

// newest returns the session that was made last.
func (r *records) newest(ctx context.Context) (found, error) {
	heads, err := r.newestHeads(ctx, selection{limit: 1})
	if err != nil {
		return found{}, err
	}
	f, fileErr := r.newestFile()
	switch {
	case len(heads) == 0:
		return f, fileErr
	case fileErr == nil && f.Lineage().Time.After(heads[0].Lineage.Time):
		return f, nil
	}
	return r.load(ctx, heads[0].ID)
}

func (r *records) newestFile() (found, error) {
	info, err := r.files.Find("@")
	if err != nil {
		return found{}, &hinted{errors.New("there are no sessions yet"), "rath run MESSAGE makes one"}
	}
	s, err := r.files.Import(info.ID.String())
	return found{Session: s, partial: info.Partial, inFile: true}, err
}

func collect[T any](seq func(func(T, error) bool)) (all []T, err error) {
	for v, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// run finds a run, by its id or that of a session that it has made.
func (r *records) run(ctx context.Context, text string) (store.Run, error) {
	filter := store.RunFilter{Prefix: strings.ToLower(text), Limit: shownIDs + 1}
	if text == "@" {
		filter = store.RunFilter{Newest: true, Limit: 1}
	}
	if m := refForm.FindStringSubmatch(text); m == nil || m[2] != "" {
		return store.Run{}, noRun(text)
	}
	runs, err := collect(r.Runs(ctx, filter))
	if err != nil {
		return store.Run{}, err
	}
	switch len(runs) {
	case 0:
		return r.runOf(ctx, text)
	case 1:
		return runs[0], nil
	}
	var ids []session.ID
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	_, err = only("run", text, ids, errNoRun, "")
	return store.Run{}, err
}

func noRun(text string) error {
	if text == "@" {
		return &hinted{errors.New("there are no runs yet"), "rath run MESSAGE makes one"}
	}
	return &hinted{fmt.Errorf("run %q: %w", text, errNoRun), "rath runs ls lists the runs"}
}

// runOf finds the run that has made a session.
func (r *records) runOf(ctx context.Context, text string) (store.Run, error) {
	if text == "@" {
		return store.Run{}, noRun(text)
	}
	s, err := r.find(ctx, strings.ToLower(text))
	if errors.Is(err, errNoSession) {
		return store.Run{}, noRun(text)
	}
	if err != nil {
		return store.Run{}, err
	}
	id, err := session.ParseID(s.Lineage().Run)
	if err != nil {
		return store.Run{}, &hinted{fmt.Errorf("session %s was made by no run", s.ID()), "rath runs ls lists the runs"}
	}
	return r.Run(ctx, id)
}

package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var sessionRules = []rule{
	{"sessions come back as they were", sessionsComeBack},
	{"ancestors in memory are kept too", ancestorsAreKept},
	{"a session that is kept is left as it is", keptIsLeft},
	{"ancestors of a kept session are kept later", ancestorsLater},
	{"sessions are kept all or none", sessionsAllOrNone},
	{"unknown sessions are not found", sessionNotFound},
	{"transcripts are found by their digests, and so is each beginning of one", transcriptsByDigest},
	{"the empty session is nothing to keep", emptySession},
	{"chunks are objects", chunksAreObjects},
	{"heads are those of the sessions", headsAreTheSessions},
	{"filters choose sessions", sessionFilters},
	{"a long session comes back through its forks", longSession},
	{"a listing can be left and written beside", listingCanBeLeft},
}

// rich has something of everything.
func rich() session.Session {
	prompt := session.New(session.System(session.Text("You are <careful> & öffentlich \u2028 \x00")))
	s := session.New(session.User(
		session.Text("look at this"), session.Image("image/png", []byte("\x89PNG\xff\x00")), session.ImageURL("https://example.org/a.png"),
		session.File("a.txt", "text/plain", []byte("\xff\xfe")),
	))
	c := s.Transcript().Append(
		session.Assistant([]session.Part{session.Reasoning("hm", `{"signature":"s=="}`), session.Text("I call")},
			session.Call{ID: "1", Name: "read", Arguments: `{"path": "a"}`, Extra: `{"x":1.0}`},
			session.Call{ID: "2", Name: "write", Arguments: `{not json`}),
		session.ToolResult(session.Answer{CallID: "1", Tool: "read"}, session.Text(strings.Repeat("long result\n", 500))),
		session.ToolResult(session.Answer{CallID: "2", Tool: "write", Outcome: session.Denied}),
		session.Chunk{},
	)
	return s.Derive(c, session.Step{
		Usage: session.Usage{Calls: 1, Unreported: 2, Input: 3, Output: 1 << 40, CacheRead: 5, CacheWrite: 6, Reasoning: 7, Cost: session.Cost{Nano: -8, Unpriced: 9}},
		Path:  "review/draft", Run: "01a1fd31-9b48-7392-a4b9-6cc1ec350fbd",
		Parents: []session.Link{{Session: prompt, Role: session.RolePrompt}, {Session: session.FromUser("b"), Role: "other"}},
		Extras:  []session.Extra{{Key: "k", Value: "v\xc3\xbc"}, {Key: "k", Value: ""}},
	})
}

// placed gives a session a placement, as one has that was read from a file.
func placed(s session.Session) session.Session {
	r := s.Record()
	r.Placement.Backend, r.Placement.Level, r.Placement.ID = "local", "host", "17"
	r.Placement.Spec.Image, r.Placement.Spec.Env = "debian", map[string]string{"A": "b"}
	r.Placement.Spec.Timeout = time.Second
	return session.Restore(r, s.Parents()...)
}

func (t *test) same(want session.Session, rule string) {
	t.Helper()
	got, err := t.Session(t.Context(), want.ID())
	t.ok(err)
	t.equal(want.Head(), got.Head(), rule)
	if !want.Transcript().Equal(got.Transcript()) || want.Digest() != got.Digest() {
		t.Errorf("%s: the chunks differ", rule)
	}
	if len(got.Parents()) > 0 {
		t.Errorf("%s: its parents are known by id only, but it has %d", rule, len(got.Parents()))
	}
}

func sessionsComeBack(t *test) {
	free := session.New().Derive(session.Transcript{}, session.Step{Run: "no id", Path: "p"})
	short := session.New().Derive(session.Transcript{}, session.Step{Run: "sixteen letters!"})
	upper := session.New().Derive(session.Transcript{}, session.Step{Run: "01A1FD31-9B48-7392-A4B9-6CC1EC350FBD"})
	timeless := session.Restore(session.Record{ID: mustID("01a1fd31-0000-7000-8000-000000000001")})
	for name, s := range map[string]session.Session{
		"rich": rich(), "placed": placed(rich()), "one chunk": session.FromUser("x"), "no chunk": session.New(), "a run that is no id": free,
		"a run of sixteen bytes": short, "a run in capitals": upper, "no time": timeless, "detached": rich().Detach(), "unknown op": withOp(session.OpUnknown), "replayed": withOp(session.OpReplay),
	} {
		t.put(s)
		t.same(s, name)
	}
}

func withOp(op session.Op) session.Session {
	r := session.FromUser("x").Record()
	r.Lineage.Op = op
	return session.Restore(r)
}

func ancestorsAreKept(t *test) {
	a, b := session.FromUser("a"), session.FromUser("b")
	left, right := a.Fork().Append(), a.Fork().Append(session.User())
	merged, err := session.Merge(left, right, b)
	t.ok(err)
	t.put(merged)
	t.same(merged, "the session itself")
	n := 0
	for s := range merged.Ancestors() {
		t.same(s, "an ancestor")
		n++
	}
	if kept := len(all(t, t.Heads(t.Context(), store.SessionFilter{}))); kept != n+1 {
		t.Errorf("%d sessions are kept, want %d", kept, n+1)
	}
}

func keptIsLeft(t *test) {
	s := rich()
	t.put(s)
	other := session.FromUser("other").Record()
	other.ID = s.ID()
	t.put(session.Restore(other))
	t.put(s)
	t.same(s, "a session kept twice")
}

func ancestorsLater(t *test) {
	root := session.FromUser("root")
	parent := root.Fork()
	child := parent.Append(session.User())
	r := child.Record()
	t.put(session.Restore(r)) // its parent is known by id alone
	t.same(child, "a session without its parent")
	if t.has(parent.ID()) {
		t.Error("a parent that is not in memory is kept")
	}
	t.put(session.Restore(r, parent))
	t.same(parent, "a parent that came later")
	t.same(root, "and its parent")
}

func sessionsAllOrNone(t *test) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := rich()
	if err := t.PutSessions(ctx, s); err == nil {
		t.Error("kept though the context had ended")
	}
	if n := len(all(t, t.Heads(t.Context(), store.SessionFilter{}))); n != 0 {
		t.Errorf("%d sessions of a call that failed are kept", n)
	}
	t.put(s)
	t.same(s, "a session kept after all")
}

func sessionNotFound(t *test) {
	_, err := t.Session(t.Context(), session.New().ID())
	t.fails(err, store.ErrNotFound, "an unknown session")
	_, err = t.Session(t.Context(), session.ID{})
	t.fails(err, store.ErrNotFound, "the empty session's id")
	for h, err := range t.Heads(t.Context(), store.SessionFilter{}) {
		t.Errorf("an empty store yields %v, %v", h, err)
	}
}

func transcriptsByDigest(t *test) {
	s := rich()
	t.put(s)
	for n := range s.Len() + 1 {
		want := s.Transcript().First(n)
		got, err := t.Transcript(t.Context(), want.Digest())
		if err != nil || got.Len() != n || got.Digest() != want.Digest() {
			t.Errorf("the first %d chunks: %d, %v", n, got.Len(), err)
		}
	}
	_, err := t.Transcript(t.Context(), session.Digest{1})
	t.fails(err, store.ErrNotFound, "an unknown transcript")
}

func emptySession(t *test) {
	t.put()
	t.put(session.Session{})
	if n := len(all(t, t.Heads(t.Context(), store.SessionFilter{}))); n != 0 {
		t.Errorf("%d sessions are kept", n)
	}
}

func chunksAreObjects(t *test) {
	s := rich()
	t.put(s)
	for i, c := range s.All() {
		want, err := c.MarshalJSON()
		t.ok(err)
		got, err := t.Object(t.Context(), c.Digest())
		t.ok(err)
		t.equal(string(want), string(got), fmt.Sprintf("chunk %d as an object is its canonical JSON", i))
	}
}

func headsAreTheSessions(t *test) {
	s := placed(rich())
	t.put(s)
	want := map[session.ID]session.Head{s.ID(): s.Head()}
	for a := range s.Ancestors() {
		want[a.ID()] = a.Head()
	}
	got := map[session.ID]session.Head{}
	for _, h := range all(t, t.Heads(t.Context(), store.SessionFilter{})) {
		got[h.ID] = h
	}
	t.equal(want, got, "heads")
}

// mustID reads an id that is known to be one.
func mustID(text string) session.ID {
	id, _ := session.ParseID(text)
	return id
}

var noon = time.Date(2020, 3, 4, 12, 0, 0, 0, time.UTC)

// family is a graph in which every filter finds some and leaves some: three chains with
// merges between, an hour apart, with parents that are not kept.
func family() (list []session.Session) {
	paths := []string{"", "review", "review/draft", "review/draft/again", "reviewer"}
	ops := []session.Op{session.OpForward, session.OpFork, session.OpMerge}
	for i := range 60 {
		r := session.FromUser(fmt.Sprint(i)).Record()
		r.ID = mustID(fmt.Sprintf("01a1fd%02x-%04x-7000-8000-%012x", i/16, i, i*i))
		r.Lineage = session.Lineage{Op: ops[i%3], Path: paths[i%5], Time: noon.Add(time.Duration(i) * time.Hour)}
		if i%7 != 0 {
			r.Lineage.Run = fmt.Sprintf("01a1fd31-9b48-7392-a4b9-6cc1ec3500%02d", i%7)
		}
		for _, back := range []int{3, 10} {
			if i >= back && (back == 3 || i%10 == 0) {
				r.Lineage.Parents = append(r.Lineage.Parents, session.Parent{ID: list[i-back].ID(), Role: session.RoleBranch})
			}
		}
		if i < 3 {
			r.Lineage.Parents = append(r.Lineage.Parents, session.Parent{ID: mustID("ffffffff-0000-7000-8000-000000000000"), Role: session.RoleInput})
		}
		list = append(list, session.Restore(r))
	}
	return list
}

func sessionFilters(t *test) {
	list := family()
	t.put(list...)
	id := func(i int) session.ID { return list[i].ID() }
	at := func(i int) time.Time { return list[i].Lineage().Time }
	for name, f := range map[string]store.SessionFilter{
		"everything": {}, "prefix": {Prefix: "01a1fd01"}, "prefix to within a group": {Prefix: "01a1fd01-001"}, "prefix with a dash": {Prefix: "01a1fd02-"},
		"whole id": {Prefix: id(7).String()}, "no id begins so": {Prefix: "f"}, "no hexadecimal": {Prefix: "01a1g"}, "no dash there": {Prefix: "01a1fd010"}, "longer than an id": {Prefix: id(7).String() + "0"},
		"in braces": {Prefix: "{" + id(7).String() + "}"}, "run": {Run: list[1].Lineage().Run}, "no such run": {Run: "x"},
		"path": {Path: "review"}, "path below": {Path: "review/draft"}, "part of a name": {Path: "rev"}, "path with a slash": {Path: "review/"},
		"op": {Op: session.OpMerge}, "since": {Since: at(30)}, "until": {Until: at(30)}, "between": {Since: at(10), Until: at(12)},
		"since a moment later": {Since: at(30).Add(time.Microsecond)}, "limit": {Limit: 7}, "newest": {Newest: true}, "newest with a limit": {Newest: true, Limit: 7},
		"ancestors": {AncestorsOf: []session.ID{id(59)}}, "ancestors of two": {AncestorsOf: []session.ID{id(40), id(20)}}, "ancestors of none": {AncestorsOf: []session.ID{{1}}},
		"descendants": {DescendantsOf: []session.ID{id(30)}}, "descendants of one that is not kept": {DescendantsOf: []session.ID{mustID("ffffffff-0000-7000-8000-000000000000")}},
		"between two": {AncestorsOf: []session.ID{id(59)}, DescendantsOf: []session.ID{id(20)}},
		"all at once": {Prefix: "01a1fd", Run: list[1].Lineage().Run, Path: "review", Op: session.OpFork, Since: at(1), Until: at(59), AncestorsOf: []session.ID{id(59), id(58), id(57)}, Newest: true, Limit: 3},
	} {
		t.equal(choose(list, f), all(t, t.Heads(t.Context(), f)), name)
	}
}

// choose is what a filter means.
func choose(list []session.Session, f store.SessionFilter) (heads []session.Head) {
	parents, children := map[session.ID][]session.ID{}, map[session.ID][]session.ID{}
	for _, s := range list {
		for _, p := range s.Lineage().Parents {
			parents[s.ID()] = append(parents[s.ID()], p.ID)
			children[p.ID] = append(children[p.ID], s.ID())
		}
	}
	above, below := reach(f.AncestorsOf, parents), reach(f.DescendantsOf, children)
	for _, s := range list {
		l := s.Lineage()
		if strings.HasPrefix(s.ID().String(), f.Prefix) && (f.Run == "" || l.Run == f.Run) && (f.Op == session.OpUnknown || l.Op == f.Op) &&
			(f.Path == "" || l.Path == f.Path || strings.HasPrefix(l.Path, f.Path+"/")) &&
			(f.Since.IsZero() || !l.Time.Before(f.Since)) && (f.Until.IsZero() || l.Time.Before(f.Until)) &&
			(f.AncestorsOf == nil || above[s.ID()]) && (f.DescendantsOf == nil || below[s.ID()]) {
			heads = append(heads, s.Head())
		}
	}
	slices.SortFunc(heads, func(a, b session.Head) int { return slices.Compare(a.ID[:], b.ID[:]) })
	if f.Newest {
		slices.Reverse(heads)
	}
	if f.Limit > 0 && len(heads) > f.Limit {
		heads = heads[:f.Limit]
	}
	return heads
}

func reach(from []session.ID, next map[session.ID][]session.ID) map[session.ID]bool {
	seen := map[session.ID]bool{}
	for stack := slices.Clone(from); len(stack) > 0; {
		id := stack[len(stack)-1]
		if stack = stack[:len(stack)-1]; !seen[id] {
			seen[id] = true
			stack = append(stack, next[id]...)
		}
	}
	return seen
}

// longSession takes forks of every kind: at the end, in the middle, without parents, with
// another end, merged.
func longSession(t *test) {
	var chunks []session.Chunk
	for i := range 1500 {
		chunks = append(chunks, session.User(session.Text(fmt.Sprint("chunk ", i))))
	}
	s := session.New(chunks...)
	t.put(s)
	half, err := s.ForkAt(700)
	t.ok(err)
	left, right := half.Append(chunks[3], chunks[4]), half.Append(chunks[4])
	merged, err := session.Merge(left, right, s)
	t.ok(err)
	twice, err := session.Concat(s, half)
	t.ok(err)
	anew := session.New(chunks[:1001]...).Append(session.User()) // the same prefix, made anew
	for i, s := range []session.Session{half, right, left, merged, s.Fork(), s.Detach(), twice, anew, anew.Append(chunks[0]), session.New(chunks[1:]...)} {
		t.put(s)
		t.same(s, fmt.Sprintf("fork %d", i))
	}
	t.same(s, "the session that the others share")
}

func listingCanBeLeft(t *test) {
	list := family()
	t.put(list...)
	for range 100 {
		for _, err := range t.Heads(t.Context(), store.SessionFilter{}) {
			t.ok(err)
			break
		}
	}
	n := 0
	for h, err := range t.Heads(t.Context(), store.SessionFilter{}) {
		t.ok(err)
		s, err := t.Session(t.Context(), h.ID)
		t.ok(err)
		t.put(s.Fork().Detach())
		n++
	}
	if n < len(list) {
		t.Errorf("%d sessions were listed beside the writing, want %d", n, len(list))
	}
}

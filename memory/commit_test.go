package memory_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
)

// extractor finds a fact in each line that begins with "fact:".
type extractor struct {
	mu    sync.Mutex
	asked []memory.Extraction
	fail  error
	hold  chan struct{} // if set, extracting waits for it
}

func (x *extractor) Extract(ctx context.Context, e memory.Extraction) (facts []memory.Fact, err error) {
	if x.hold != nil {
		select {
		case <-x.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, e)
	for _, l := range e.Lines {
		if text, ok := strings.CutPrefix(l.Text, "fact: "); ok {
			about, _, _ := strings.Cut(text, " is ")
			facts = append(facts, memory.Fact{Text: text, About: about, Category: "profile", Chunk: l.Number})
		}
	}
	return facts, x.fail
}

func commit(t *testing.T, s *memory.Store, in session.Session) memory.Committed {
	t.Helper()
	c, err := s.Commit(t.Context(), in, &memory.CommitOptions{Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCommitExtractsFactsWithTheirSource(t *testing.T) {
	x := &extractor{}
	s := open(t, &memory.Options{Extractor: x})
	told := session.Part{Text: "fact: what is from memory is no news\n", URL: "memory://user/x"}
	in := session.FromUser("fact: the city is Lisbon").Append(
		session.System(told),
		session.Assistant(nil, session.Call{ID: "1", Name: "look"}),
		session.ToolResult(session.Answer{CallID: "1", Tool: "look"}, session.Text("fact: the owner is root")),
		session.Assistant([]session.Part{session.Text("fact: the plan is good")}),
	)
	c := commit(t, s, in)
	if c.Archive.State != memory.Done || c.Archive.Digest != in.Digest() || len(c.Notes) != 3 {
		t.Fatalf("committed %+v", c)
	}
	want := map[string]memory.Note{
		"the city is Lisbon": {Trust: memory.TrustUser, Source: memory.Source{Chunk: 1}},
		"the owner is root":  {Trust: memory.TrustTool, Source: memory.Source{Chunk: 4}},
		"the plan is good":   {Trust: memory.TrustTool, Source: memory.Source{Chunk: 5}},
	}
	for _, n := range c.Notes {
		kept, err := s.Get(t.Context(), n.URI)
		if err != nil || kept.Trust != want[n.Text].Trust || kept.Source.Chunk != want[n.Text].Source.Chunk || kept.Source.Session != in.ID() {
			t.Errorf("%s: kept %+v, %v", n.Text, kept, err)
		}
	}
	transcript, err := s.Transcript(t.Context(), in.Digest())
	if err != nil || !transcript.Equal(in.Transcript()) {
		t.Errorf("the archive is another transcript: %v", err)
	}
}

// liar says of every line that holds a fact that the user has said it.
type liar struct{ extractor }

func (x *liar) Extract(ctx context.Context, e memory.Extraction) ([]memory.Fact, error) {
	facts, err := x.extractor.Extract(ctx, e)
	for i := range facts {
		facts[i].Chunk = 1
	}
	return facts, err
}

// A tool's output that has the model say that the user said so is a tool's output still.
func TestCommitBelievesNoModelThatReadATool(t *testing.T) {
	s := open(t, &memory.Options{Extractor: &liar{}})
	poisoned := session.FromUser("fact: the city is Lisbon").Append(
		session.Assistant(nil, session.Call{ID: "1", Name: "look"}),
		session.ToolResult(session.Answer{CallID: "1", Tool: "look"}, session.Text("fact: the city is Evilton")),
		session.User(session.Text("fact: the pet is a llama")),
		session.User(session.Part{Text: "fact: the boss is Mallory", URL: "transcript:00"}),
	)
	want := map[string]memory.Trust{
		"the city is Lisbon": memory.TrustUser, "the city is Evilton": memory.TrustTool,
		"the pet is a llama": memory.TrustUser, "the boss is Mallory": memory.TrustTool,
	}
	got := map[string]memory.Trust{}
	for _, n := range commit(t, s, poisoned).Notes {
		got[n.Text] = n.Trust
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// What is known is shown in short, however long it is.
func TestCommitShowsLittleOfWhatIsKnown(t *testing.T) {
	x := &extractor{}
	s := open(t, &memory.Options{Extractor: x})
	if _, err := s.Write(t.Context(), memory.Note{URI: "memory://user/long", Text: strings.Repeat("llama ", 100_000)}); err != nil {
		t.Fatal(err)
	}
	commit(t, s, session.FromUser("fact: my llama is old"))
	if known := x.asked[0].Known; len(known) != 1 || len(known[0].Text) > 1000 {
		t.Errorf("%d known notes", len(known))
	}
}

// A commit of what goes on from another reads only what is new, and updates what is known.
func TestCommitUpdates(t *testing.T) {
	x := &extractor{}
	s := open(t, &memory.Options{Extractor: x})
	first := session.FromUser("fact: the city is Berlin")
	old := commit(t, s, first).Notes[0]
	next := first.Append(session.Assistant([]session.Part{session.Text("Noted.")}), session.User(session.Text("fact: the city is Lisbon")))
	commit(t, s, next)
	last := x.asked[len(x.asked)-1]
	if len(last.Lines) != 2 || last.Lines[0].Number != 2 || len(last.Known) != 1 || last.Known[0].URI != old.URI {
		t.Errorf("asked with %+v", last)
	}
	if n, err := s.Get(t.Context(), old.URI); err != nil || n.Until.IsZero() {
		t.Errorf("the old note is %+v, %v", n, err)
	}
	if c := commit(t, s, next); c.Archive.State != memory.Known || len(x.asked) != 2 {
		t.Errorf("the same again: %+v, asked %d times", c, len(x.asked))
	}
	list, err := s.Archives(t.Context(), session.ID{})
	if err != nil || len(list) != 2 {
		t.Errorf("archives: %+v, %v", list, err)
	}
}

// What a process leaves is done by the next.
func TestCommitSurvivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	stuck := &extractor{hold: make(chan struct{})}
	s, err := local.Open(t.Context(), dir, &local.Options{Memory: &memory.Options{Extractor: stuck}})
	if err != nil {
		t.Fatal(err)
	}
	in := session.FromUser("fact: the city is Lisbon")
	c, err := s.Commit(t.Context(), in, nil)
	if err != nil || c.Archive.State != memory.Queued {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, err = local.Open(t.Context(), dir, &local.Options{Memory: &memory.Options{Extractor: &extractor{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := recall(t, s, "city", nil); len(got) != 1 {
		t.Errorf("recalled %v", got)
	}
}

func TestCommitFails(t *testing.T) {
	broken := errors.New("the model is on holiday")
	s := open(t, &memory.Options{Extractor: &extractor{fail: broken}})
	in := session.FromUser("fact: the city is Lisbon")
	if _, err := s.Commit(t.Context(), in, &memory.CommitOptions{Wait: true}); !errors.Is(err, broken) {
		t.Errorf("committed: %v", err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil || stats.Pending != 1 || stats.Archives != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	none := open(t, nil)
	if c := commit(t, none, in); c.Archive.State != memory.Archived {
		t.Errorf("nobody extracts: %+v", c)
	}
}

// Models are wrong in many ways, none of which may harm the store.
func TestWildFacts(t *testing.T) {
	wild := wildExtractor{
		{Text: ""}, {Text: strings.Repeat("x", 5000)}, {Text: "bad \xff bytes", Chunk: 99, Importance: 7, Category: "../../etc"},
		{Text: "replaces nothing", Updates: "memory://user/none"}, {Confirms: "memory://resources/none"}, {Text: "low", Importance: -3, Chunk: 1},
	}
	for i := range 100 {
		wild = append(wild, memory.Fact{Text: strings.Repeat("y", i+1)})
	}
	s := open(t, &memory.Options{Extractor: wild})
	notes := commit(t, s, session.FromUser("hello")).Notes
	got := map[string]memory.Trust{}
	for _, n := range notes[:3] {
		got[n.Text+" in "+n.URI.Parent().Base()] = n.Trust
	}
	want := map[string]memory.Trust{
		"bad \uFFFD bytes in facts": memory.TrustAgent, "replaces nothing in facts": memory.TrustAgent, "low in facts": memory.TrustUser,
	}
	if d := cmp.Diff(want, got); d != "" || len(notes) > 32 {
		t.Errorf("%d notes; -want +got:\n%s", len(notes), d)
	}
}

type wildExtractor []memory.Fact

func (w wildExtractor) Extract(context.Context, memory.Extraction) ([]memory.Fact, error) {
	return w, nil
}

package openviking_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/memorytest"
	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "key-of-alice-0123456789"

func serve(t *testing.T, o contract.Options) *contract.Server {
	t.Helper()
	s, err := contract.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// open opens a driver on a server that wants a key.
func open(t *testing.T, s *contract.Server, o openviking.Options) driver.Store {
	t.Helper()
	o.APIKey = key
	d, err := openviking.New(t.Context(), s.URL(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func alice() contract.Options { return contract.Options{APIKey: key, User: "alice", Polls: 1} }

func put(t *testing.T, d driver.Store, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if _, err := d.Put(t.Context(), driver.Replace, driver.Note{URI: driver.URI(pairs[i]), Text: pairs[i+1]}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRules(t *testing.T) {
	for name, o := range map[string]openviking.Options{"waiting": {Wait: true, Agent: "helper"}, "later": {Agent: "a.b c"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			memorytest.Suite{Open: func(t *testing.T) driver.Store {
				server := alice()
				server.Lag = 3
				return open(t, serve(t, server), o)
			}}.Run(t)
		})
	}
}

// A real server is asked the same, if the environment names one. What the rules keep is
// removed before each: give it a user of its own.
func TestRealServer(t *testing.T) {
	address := os.Getenv("OPENVIKING_URL")
	if address == "" {
		t.Skip("OPENVIKING_URL names no OpenViking server; all the user's notes on it would be removed, and OPENVIKING_API_KEY is the key")
	}
	memorytest.Suite{
		Patience: 2 * time.Minute,
		Open: func(t *testing.T) driver.Store {
			d, err := openviking.New(t.Context(), address, &openviking.Options{APIKey: os.Getenv("OPENVIKING_API_KEY"), Agent: "helper", Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range []driver.URI{"memory://user/memories", "memory://agent/memories", "memory://resources/docs"} {
				if _, err := d.Remove(t.Context(), u, true); err != nil && !errors.Is(err, driver.ErrNotFound) {
					t.Fatal(err)
				}
			}
			return d
		},
	}.Run(t)
}

func TestPortable(t *testing.T) {
	s := serve(t, alice())
	m, err := openviking.Open(t.Context(), s.URL(), &openviking.Options{APIKey: key, Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	ctx := t.Context()
	n, err := m.Remember(ctx, "Prefers green tea.", nil)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Remember(ctx, "prefers  green tea", nil); err != nil || again.URI != n.URI {
		t.Errorf("the same words are %s, %v", again.URI, err)
	}
	found, err := m.Recall(ctx, "green tea?", nil)
	if err != nil || len(found.Hits) != 1 || found.Hits[0].URI != n.URI || found.Hits[0].Snippet != "Prefers green tea." {
		t.Errorf("recalled %+v, %v", found, err)
	}
	if _, err := open(t, s, openviking.Options{}).Put(ctx, driver.Merge, driver.Note{URI: n.URI, Text: "Prefers coffee."}); !errors.Is(err, driver.ErrExists) {
		t.Errorf("other words in the same place: %v", err)
	}
	if _, err := m.Remember(ctx, "Lives in Oslo.", &memory.RememberOptions{About: "user.city"}); !errors.Is(err, memory.ErrUnsupported) {
		t.Errorf("a subject: %v", err)
	}
	if _, err := m.Remember(ctx, "Is brief.", &memory.RememberOptions{Scope: "agent"}); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), "Options.Agent") {
		t.Errorf("a note of an agent: %v", err)
	}
	if _, err := m.Write(ctx, memory.Note{URI: "memory://session/x/y", Text: "z"}); !errors.Is(err, memory.ErrUnsupported) {
		t.Errorf("a note in a session: %v", err)
	}
	if name := m.String(); !strings.HasPrefix(name, "openviking:127.0.0.1:") {
		t.Errorf("its name is %s", name)
	}
}

func TestLevels(t *testing.T) {
	d := open(t, serve(t, alice()), openviking.Options{})
	text := "# Samovar\n\nIt boils water. It is old.\n"
	put(t, d, "memory://resources/tea/samovar.md", text, "memory://resources/tea/cups", "Two cups.")
	for _, test := range []struct {
		uri   driver.URI
		level driver.Level
		want  string
		err   error
	}{
		{"memory://resources/tea/samovar.md", driver.Detail, text, nil},
		{"memory://resources/tea/samovar.md", "", text, nil},
		{"memory://resources/tea/samovar.md", driver.Abstract, memory.AbstractOf(text), nil},
		{"memory://resources/tea/samovar.md", driver.Overview, memory.OverviewOf(text), nil},
		{"memory://resources/tea", driver.Abstract, "tea has cups.note.md, samovar.md", nil},
		{"memory://resources/tea", driver.Overview, "## tea\n\n- cups.note.md\n- samovar.md", nil},
		{"memory://resources/tea", driver.Detail, "- memory://resources/tea/cups: Two cups.\n- memory://resources/tea/samovar.md: # Samovar\n", nil},
		{"memory://", driver.Abstract, "- memory://agent/\n- memory://resources/\n- memory://session/\n- memory://user/\n", nil},
		{"memory://resources/none", driver.Abstract, "", driver.ErrNotFound},
		{"memory://resources/none", driver.Detail, "", driver.ErrNotFound},
	} {
		got, err := d.(driver.Leveler).Level(t.Context(), test.uri, test.level)
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s, %q: %q, %v, want %q, %v", test.uri, test.level, got, err, test.want, test.err)
		}
	}
}

// Files that the server made itself are notes by their own names.
func TestForeignFiles(t *testing.T) {
	s := serve(t, alice())
	c := client(t, s)
	for _, uri := range []string{"viking://~/memories/events/archive_001_1.md", "viking://user/alice/profile.md", "viking://resources/a/b%20c.md"} {
		if err := c.Write(t.Context(), uri, "text of "+uri, "create", true); err != nil {
			t.Fatal(err)
		}
	}
	d := open(t, s, openviking.Options{})
	for uri, want := range map[driver.URI]string{
		"memory://user/memories/events/archive_001_1.md": "text of viking://~/memories/events/archive_001_1.md",
		"memory://user/profile.md":                       "text of viking://user/alice/profile.md",
	} {
		n, err := d.Get(t.Context(), uri)
		if err != nil || n.Text != want || n.Time.IsZero() {
			t.Errorf("%s is %+v, %v", uri, n, err)
		}
	}
	entries, err := d.List(t.Context(), "memory://resources/a")
	if err != nil || len(entries) != 1 || entries[0].URI != "memory://resources/a/b%20c.md" {
		t.Errorf("%+v, %v", entries, err)
	}
}

func client(t *testing.T, s *contract.Server) *openviking.Client {
	t.Helper()
	c, err := openviking.NewClient(s.URL(), &openviking.Options{APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestFind(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{Wait: true})
	long := strings.Repeat("green tea ", 100)
	put(t, d, "memory://user/memories/preferences/a", "likes green tea", "memory://resources/x/b", long, "memory://user/c", "a dog")
	for _, test := range []struct {
		name string
		q    driver.Query
		want []driver.URI
		err  error
	}{
		{"best first", driver.Query{Text: "green tea", Limit: 2}, []driver.URI{"memory://user/memories/preferences/a", "memory://resources/x/b"}, nil},
		{"a folder", driver.Query{Text: "tea", Limit: 5, Under: []driver.URI{"memory://resources"}}, []driver.URI{"memory://resources/x/b"}, nil},
		{"a note", driver.Query{Text: "tea", Limit: 5, Under: []driver.URI{"memory://resources/x/none"}}, nil, nil},
		{"since", driver.Query{Text: "tea", Limit: 5, Since: time.Now().Add(time.Hour)}, nil, nil},
		{"until", driver.Query{Text: "tea", Limit: 1, Until: time.Now().Add(time.Hour)}, []driver.URI{"memory://user/memories/preferences/a"}, nil},
		{"by words", driver.Query{Text: "tea", Limit: 1, Match: driver.MatchWords}, nil, driver.ErrUnsupported},
		{"by metadata", driver.Query{Text: "tea", Limit: 1, Meta: map[string]string{"a": "b"}}, nil, driver.ErrUnsupported},
		{"by trust", driver.Query{Text: "tea", Limit: 1, Trust: []driver.Trust{driver.TrustUser}}, nil, driver.ErrUnsupported},
		{"nothing", driver.Query{Text: " ", Limit: 1}, nil, driver.ErrUnsupported},
	} {
		found, err := d.Find(t.Context(), test.q)
		var got []driver.URI
		for _, h := range found.Hits {
			got = append(got, h.URI)
		}
		if diff := cmp.Diff(test.want, got, cmpopts.EquateEmpty()); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, (-want +got)\n%s", test.name, err, diff)
		}
	}
	found, err := d.Find(t.Context(), driver.Query{Text: "green tea", Limit: 2, Snippet: 20})
	if err != nil {
		t.Fatal(err)
	}
	h := found.Hits[1]
	if h.Snippet != long[:20]+"…" || h.Trust != driver.TrustResource || h.Whole || h.Meaning != h.Score {
		t.Errorf("the hit is %+v", h)
	}
}

// With Intent the server's model is asked, which knows the session.
func TestIntent(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{Intent: true, Wait: true})
	put(t, d, "memory://user/memories/preferences/a", "likes green tea", "memory://user/memories/preferences/b", "has a dog")
	if _, err := d.Find(t.Context(), driver.Query{Text: "drinks", Limit: 1}); err != nil || s.Count("POST /api/v1/search/search") != 1 {
		t.Errorf("%v, %q", err, s.Seen())
	}
	c := client(t, s)
	if err := c.AddMessages(t.Context(), "talk", []openviking.Message{{Role: "user", Content: "I speak of my dog"}}); err != nil {
		t.Fatal(err)
	}
	m, err := c.Search(t.Context(), openviking.Search{Query: "what of it?", Session: "talk", Limit: 1})
	if err != nil || len(m.Memories) != 1 || !strings.HasSuffix(m.Memories[0].URI, "/b.note.md") {
		t.Errorf("found %+v, %v", m, err)
	}
}

func TestIngest(t *testing.T) {
	options := alice()
	options.Web = map[string]string{"https://example.com/guide.md": "# Guide\n\nOne.\n\n## Two\n\nMore.\n"}
	options.Lag = 1000
	s := serve(t, options)
	d := open(t, s, openviking.Options{})
	dir := t.TempDir()
	for name, text := range map[string]string{"notes.txt": "A giraffe.", "folder/a.md": "# A", ".git/config": "secret", "folder/node_modules/x/b.md": "# B"} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	to := driver.URI("memory://resources/it")
	for _, test := range []struct {
		name string
		r    driver.Resource
		want driver.Ingested
		err  error
	}{
		{"an address", driver.Resource{Name: "https://example.com/guide.md", Wait: true}, driver.Ingested{URI: to, Files: 1, Notes: 2}, nil},
		{"a file", driver.Resource{Name: filepath.Join(dir, "notes.txt"), Wait: true}, driver.Ingested{URI: to, Files: 1, Notes: 1}, nil},
		{"data", driver.Resource{Name: "x", Data: []byte("# X\n"), MIME: "text/markdown; charset=utf-8"}, driver.Ingested{URI: to, Files: 1, Notes: 1}, nil},
		{"a folder", driver.Resource{Name: dir}, driver.Ingested{URI: to, Files: 1, Notes: 2}, nil},
		{"the server's own machine", driver.Resource{Name: "http://127.0.0.1:1933/api"}, driver.Ingested{}, driver.ErrInvalid},
		{"no file", driver.Resource{Name: filepath.Join(dir, "none")}, driver.Ingested{}, driver.ErrInvalid},
	} {
		test.r.URI = to
		got, err := d.(driver.Ingester).Ingest(t.Context(), test.r)
		if diff := cmp.Diff(test.want, got); diff != "" || !errors.Is(err, test.err) {
			t.Errorf("%s: %v, (-want +got)\n%s", test.name, err, diff)
		}
		if test.name == "a file" { // it waited
			found, err := d.Find(t.Context(), driver.Query{Text: "giraffe", Limit: 1})
			if err != nil || len(found.Hits) != 1 || found.Hits[0].Snippet != "A giraffe." {
				t.Errorf("found %+v, %v", found, err)
			}
		}
	}
	if diff := cmp.Diff([]string{filepath.Base(dir) + ".zip", "notes.txt", "x.md"}, s.Uploads(), cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n, err := d.Get(t.Context(), to.Join("folder", "a.md")); err != nil || n.Text != "# A" {
		t.Errorf("of the folder there is %+v, %v", n, err)
	}
	_, err := d.(driver.Ingester).Ingest(t.Context(), driver.Resource{URI: "memory://user/memories/x", Data: []byte("x")})
	if !errors.Is(err, driver.ErrInvalidURI) {
		t.Errorf("a document among memories: %v", err)
	}
}

// What is said of a note beside its text is lost, and nobody is told otherwise.
func TestWhatIsLost(t *testing.T) {
	d := open(t, serve(t, alice()), openviking.Options{})
	n := driver.Note{Text: "likes tea", Title: "T", Context: "C", Trust: driver.TrustUser, Source: driver.Source{Origin: "x"}, Created: time.Unix(1, 0)}
	for uri, trust := range map[driver.URI]driver.Trust{"memory://user/memories/a": driver.TrustUnknown, "memory://resources/a/b": driver.TrustResource} {
		n.URI = uri
		want := driver.Note{URI: uri, Text: n.Text, Trust: trust}
		kept, err := d.Put(t.Context(), driver.Replace, n)
		if diff := cmp.Diff([]driver.Note{want}, kept); diff != "" || err != nil {
			t.Errorf("%v, kept (-want +got)\n%s", err, diff)
		}
		there, err := d.Get(t.Context(), uri)
		want.Time = there.Time
		if diff := cmp.Diff(want, there); diff != "" || err != nil || there.Time.Before(time.Unix(2, 0)) {
			t.Errorf("%v, there (-want +got)\n%s", err, diff)
		}
	}
}

func TestHealth(t *testing.T) {
	s := serve(t, alice())
	c, err := openviking.NewClient(strings.TrimPrefix(s.URL(), "http://"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h, err := c.Health(t.Context())
	if diff := cmp.Diff(openviking.Health{Status: "ok", Healthy: true, Version: "0.4.16", AuthMode: "api_key"}, h); diff != "" || err != nil {
		t.Errorf("%v, (-want +got)\n%s", err, diff)
	}
	if err := client(t, s).WaitAll(t.Context()); err != nil {
		t.Error(err)
	}
}

package memory_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/memory/resource"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	return name
}

func add(t *testing.T, s *memory.Store, name string, o *memory.ResourceOptions) memory.Ingested {
	t.Helper()
	in, err := s.AddResource(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// texts are the notes of a store, by their URIs.
func texts(t *testing.T, s *memory.Store) map[memory.URI]string {
	t.Helper()
	all := map[memory.URI]string{}
	entries, err := s.Tree(t.Context(), memory.Root, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsNote {
			continue
		}
		n, err := s.Get(t.Context(), e.URI)
		if err != nil {
			t.Fatal(err)
		}
		all[n.URI] = n.Text
	}
	return all
}

// Two documents never have one place, whatever they have in common.
func TestResourcesDoNotCollide(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	long := strings.Repeat("x", 195)
	data := func(text string) *memory.ResourceOptions { return &memory.ResourceOptions{Data: []byte(text)} }
	folder := filepath.Join(dir, "tree")
	write(t, filepath.Join(folder, "a_b"), "five")
	write(t, filepath.Join(folder, `a\b`), "six")
	write(t, filepath.Join(folder, long+"1"), "seven")
	write(t, filepath.Join(folder, long+"2"), "eight")
	places := map[memory.URI]bool{}
	for _, in := range []memory.Ingested{
		add(t, s, write(t, filepath.Join(dir, "a", "README.md"), "one"), nil),
		add(t, s, write(t, filepath.Join(dir, "b", "README.md"), "two"), nil),
		add(t, s, "http://h/a?id=1", data("three")), add(t, s, "http://h/a?id=2", data("four")),
		add(t, s, "a/b", data("nine")), add(t, s, "a_b", data("ten")),
		add(t, s, long+"1", data("eleven")), add(t, s, long+"2", data("twelve")),
		add(t, s, folder, nil),
	} {
		if in.Files == 0 || places[in.URI] {
			t.Errorf("added %+v", in)
		}
		places[in.URI] = true
	}
	if got := texts(t, s); len(got) != 12 {
		t.Errorf("%d notes are kept: %v", len(got), got)
	}
	for uri := range places {
		base, _, _ := strings.Cut(uri.Base(), "README.md-")
		if strings.Contains(string(uri), "README") && (base != "" || len(uri.Base()) != len("README.md-")+8) {
			t.Errorf("%s is hard to read", uri)
		}
	}
}

// A destination that is named belongs to the document that came first.
func TestResourceTakesNothingOver(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	t.Chdir(dir)
	write(t, "a/README.md", "the first")
	write(t, "b/README.md", "the second")
	to := &memory.ResourceOptions{To: "memory://resources/readme"}
	add(t, s, "a/README.md", to)
	_, err := s.AddResource(t.Context(), "b/README.md", to)
	var failed *memory.Error
	if !errors.Is(err, memory.ErrExists) || !errors.As(err, &failed) || failed.Hint() == "" {
		t.Errorf("another document: %v", err)
	}
	write(t, "a/README.md", "the first, changed")
	for _, name := range []string{"a/README.md", "./a/README.md", filepath.Join(dir, "a/README.md")} {
		add(t, s, name, to)
	}
	if in := add(t, s, "b", &memory.ResourceOptions{To: "memory://resources/b"}); in.Files != 1 {
		t.Errorf("%+v", in)
	}
	write(t, "c/README.md", "the third")
	in := add(t, s, "c", &memory.ResourceOptions{To: "memory://resources/b"})
	if in.Files != 0 || len(in.Skipped) != 1 || !strings.Contains(in.Skipped[0], "has another document") {
		t.Errorf("a folder over another: %+v", in)
	}
	if _, err := s.Write(t.Context(), memory.Note{URI: "memory://resources/mine/0001", Text: "written by hand"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddResource(t.Context(), "c/README.md", &memory.ResourceOptions{To: "memory://resources/mine"}); !errors.Is(err, memory.ErrExists) {
		t.Errorf("over a note: %v", err)
	}
	want := map[memory.URI]string{
		"memory://resources/readme/0001":      "the first, changed",
		"memory://resources/b/README.md/0001": "the second",
		"memory://resources/mine/0001":        "written by hand",
	}
	if d := cmp.Diff(want, texts(t, s)); d != "" {
		t.Error(d)
	}
}

// That a document is kept elsewhere is no reason to leave an older version of it here.
func TestResourceThatBecameAnother(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	a, b := write(t, filepath.Join(dir, "a.txt"), "alpha"), write(t, filepath.Join(dir, "b.txt"), "beta")
	at, other := add(t, s, a, nil), add(t, s, b, nil)
	write(t, a, "beta")
	if in := add(t, s, a, nil); in.Files != 1 || in.URI != at.URI {
		t.Errorf("changed to what is elsewhere: %+v", in)
	}
	if text, err := s.Read(t.Context(), at.URI.Join("0001"), ""); text != "beta" || err != nil {
		t.Errorf("kept is %q, %v", text, err)
	}
	in := add(t, s, b, &memory.ResourceOptions{To: "memory://resources/spec"})
	if in.Known != 1 || in.URI != at.URI && in.URI != other.URI {
		t.Errorf("known elsewhere: %+v", in)
	}
}

// breaking is a driver without [driver.Documents], which fails at a call of our choice.
type breaking struct {
	driver.Store
	calls, at int
}

var errBroken = errors.New("killed here")

func (b *breaking) step() error {
	if b.calls++; b.calls == b.at {
		return errBroken
	}
	return nil
}

func (b *breaking) Put(ctx context.Context, m driver.Mode, n ...driver.Note) ([]driver.Note, error) {
	if err := b.step(); err != nil {
		return nil, err
	}
	return b.Store.Put(ctx, m, n...)
}

func (b *breaking) Remove(ctx context.Context, u driver.URI, r bool) (int, error) {
	if err := b.step(); err != nil {
		return 0, err
	}
	return b.Store.Remove(ctx, u, r)
}

// Whenever a replacement is broken off, adding again comes to the same end, and nothing of
// the older document is left.
func TestReplacingIsBrokenOff(t *testing.T) {
	paragraphs := func(word string, n int) []byte {
		return []byte(strings.Repeat(word+" lives in the mountains, said again and again, and nobody knows why. ", n))
	}
	long, short := paragraphs("llama", 60), paragraphs("alpaca", 30)
	want := func(data []byte) map[memory.URI]string {
		s := open(t, nil)
		add(t, s, "doc.txt", &memory.ResourceOptions{Data: data})
		return texts(t, s)
	}
	whole := map[string]map[memory.URI]string{"long": want(long), "short": want(short)}
	calls := 0
	for at := range 2 * 30 {
		d, err := local.OpenDriver(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		b := &breaking{Store: d}
		s := memory.New(b, nil)
		add(t, s, "doc.txt", &memory.ResourceOptions{Data: long})
		b.calls, b.at = 0, at/2+1
		_, err = s.AddResource(t.Context(), "doc.txt", &memory.ResourceOptions{Data: short})
		calls, b.at = b.calls, 0
		name, again := "short", short
		if at%2 == 0 { // the older one comes back
			name, again = "long", long
		}
		add(t, s, "doc.txt", &memory.ResourceOptions{Data: again})
		if d := cmp.Diff(whole[name], texts(t, s)); d != "" {
			t.Fatalf("broken off at call %d (%v), then %s:\n%s", at/2+1, err, name, d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil && at%2 == 1 {
			break
		}
	}
	if calls < 4 || calls == 30 {
		t.Errorf("it took %d calls", calls)
	}
}

// What has no URI is skipped, not kept under one that nobody can name.
func TestResourceTooDeep(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	deep := filepath.Join(dir, strings.Repeat(strings.Repeat("x", 150)+"/", 7))
	write(t, filepath.Join(deep, "f.txt"), "deep")
	write(t, filepath.Join(dir, "g.txt"), "flat")
	in := add(t, s, dir, &memory.ResourceOptions{To: "memory://resources/d"})
	if in.Files != 1 || len(in.Skipped) != 1 || !strings.Contains(in.Skipped[0], "longer than") {
		t.Errorf("%+v", in)
	}
	if d := cmp.Diff(map[memory.URI]string{"memory://resources/d/g.txt/0001": "flat"}, texts(t, s)); d != "" {
		t.Error(d)
	}
}

// inputs is a journal that keeps what effects were given and gave.
type inputs struct{ texts []string }

func (j *inputs) Begin(_ context.Context, _ string, c effect.Call) (effect.Entry, error) {
	data, err := json.Marshal(c.Input)
	j.texts = append(j.texts, string(data))
	return noted{j}, err
}

func (*inputs) Knows(string, effect.Call) bool { return false }

type noted struct{ j *inputs }

func (noted) Recorded() (effect.Outcome, bool)            { return effect.Outcome{}, false }
func (noted) Context(ctx context.Context) context.Context { return ctx }
func (n noted) End(_ context.Context, o effect.Outcome) error {
	n.j.texts = append(n.j.texts, string(o.Value), o.Error)
	return nil
}

// What may be secret in an address is in no error, record, note or progress.
func TestResourceKeepsSecrets(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/binary":
			_, _ = w.Write([]byte("\x00\x01\x02"))
		case "/away":
			http.Redirect(w, r, "/binary?token="+r.URL.Query().Get("token"), http.StatusFound)
		default:
			fmt.Fprint(w, "a page about capybaras")
		}
	}))
	defer server.Close()
	s := open(t, &memory.Options{Resources: &resource.Options{Fetch: &resource.Fetcher{AllowPrivate: true}}})
	var journal inputs
	ctx := effect.WithJournal(t.Context(), &journal)
	var seen []string
	o := &memory.ResourceOptions{Progress: func(p memory.Progress) { seen = append(seen, p.Name) }}
	host := strings.TrimPrefix(server.URL, "http://")
	for _, name := range []string{
		server.URL + "/page?token=SECRET#SECRET", server.URL + "/gone?token=SECRET", server.URL + "/binary?token=SECRET", server.URL + "/away?token=SECRET",
		"http://me:SECRET@" + host + "/a?token=SECRET", "http://me:SECRET@" + host + ":x/", "http://127.0.0.1:1/a?token=SECRET",
		"ftp://me:SECRET@example.org/x", "http://h/?SECRET#%zz", "http://me:SE?CRET@h:SECRET/",
	} {
		in, err := s.AddResource(ctx, name, o)
		out, _ := json.Marshal(in)
		seen = append(seen, string(out), fmt.Sprint(err))
		var failed *memory.Error
		if errors.As(err, &failed) {
			data, _ := json.Marshal(failed)
			seen = append(seen, string(data))
		}
	}
	if got := recall(t, s, "capybaras", nil); len(got) != 1 {
		t.Fatalf("recalled %v", got)
	} else if n, err := s.Get(t.Context(), got[0]); err != nil || n.Source.Origin != server.URL+"/page" {
		t.Errorf("%+v, %v", n, err)
	} else {
		seen = append(seen, fmt.Sprintf("%+v", n))
	}
	for _, text := range append(seen, journal.texts...) {
		if strings.Contains(text, "SECRET") || strings.Contains(text, "SE?CRET") {
			t.Errorf("a secret is told: %s", text)
		}
	}
	a, b := len(journal.texts), 0
	for _, q := range []string{"1", "2", "2"} { // the digest of all of it keeps them apart
		_, _ = s.AddResource(ctx, server.URL+"/gone?"+q, nil)
	}
	for i, text := range journal.texts[a:] {
		if i%3 == 0 && text == journal.texts[a] {
			b++
		}
	}
	if b != 1 {
		t.Errorf("%d effects have the same input, not 1", b)
	}
}

// ingesting is a server that says too much.
type ingesting struct{ driver.Store }

func (ingesting) Ingest(_ context.Context, r driver.Resource) (driver.Ingested, error) {
	return driver.Ingested{Skipped: []string{"saw " + r.Name}}, fmt.Errorf("%w: GET %s: token SECRET is wrong", driver.ErrTransport, r.Name)
}

func TestServersAreNotRepeated(t *testing.T) {
	d, err := local.OpenDriver(t.Context(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := memory.New(ingesting{d}, nil)
	defer s.Close()
	in, err := s.AddResource(t.Context(), "http://h/a?token=SECRET", nil)
	if !errors.Is(err, memory.ErrTransport) || strings.Contains(fmt.Sprint(in, err), "SECRET") {
		t.Errorf("%+v, %v", in, err)
	}
}

// The input of the effect is what the caller gave, wherever the process runs.
func TestAddResourceIsTheSameEffectElsewhere(t *testing.T) {
	s := open(t, nil)
	var journal inputs
	places := map[memory.URI]bool{}
	for i := range 2 {
		t.Chdir(t.TempDir())
		write(t, "f.txt", fmt.Sprint("file ", i))
		in, err := s.AddResource(effect.WithJournal(t.Context(), &journal), ".", nil)
		if err != nil {
			t.Fatal(err)
		}
		places[in.URI] = true
	}
	if len(journal.texts) != 6 || journal.texts[0] != journal.texts[3] || len(places) != 2 {
		t.Errorf("%q, %v", journal.texts, places)
	}
}

func TestProgressHasATotal(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	for i := range 3 {
		write(t, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprint("file ", i))
	}
	var told []int
	tell := func(p memory.Progress) { told = append(told, p.Files, p.Total) }
	add(t, s, dir, &memory.ResourceOptions{Progress: tell, To: "memory://resources/d"})
	out := filepath.Join(t.TempDir(), "out")
	if _, err := s.Export(t.Context(), out, &memory.ExportOptions{Progress: tell}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), out, &memory.ImportOptions{Progress: tell}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]int{1, 3, 2, 3, 3, 3, 1, 3, 2, 3, 3, 3, 1, 3, 2, 3, 3, 3}, told); d != "" {
		t.Error(d)
	}
}

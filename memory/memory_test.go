package memory_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
)

func open(t *testing.T, o *memory.Options) *memory.Store {
	t.Helper()
	s, err := local.Open(t.Context(), t.TempDir(), &local.Options{Memory: o})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func remember(t *testing.T, s *memory.Store, text string, o *memory.RememberOptions) memory.Note {
	t.Helper()
	n, err := s.Remember(t.Context(), text, o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func recall(t *testing.T, s *memory.Store, query string, o *memory.RecallOptions) (uris []memory.URI) {
	t.Helper()
	found, err := s.Recall(t.Context(), query, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range found.Hits {
		uris = append(uris, h.URI)
	}
	return uris
}

func TestRemember(t *testing.T) {
	s := open(t, nil)
	first := remember(t, s, "The user likes compact summaries.", nil)
	if !strings.HasPrefix(string(first.URI), "memory://user/memories/preferences/") || len(first.URI.Base()) != 8 {
		t.Errorf("kept as %s", first.URI)
	}
	again := remember(t, s, "  the user likes compact   SUMMARIES ", nil)
	if again.URI != first.URI || again.Text != first.Text || again.Time.Before(first.Time) {
		t.Errorf("the same words are kept as %+v, not as %+v", again, first)
	}
	if got := recall(t, s, "what summaries does the user like?", nil); !slices.Equal(got, []memory.URI{first.URI}) {
		t.Errorf("recalled %v", got)
	}
	chinese := remember(t, s, "用户喜欢简洁的技术摘要", nil)
	if got := recall(t, s, "简洁摘要", nil); !slices.Equal(got, []memory.URI{chinese.URI}) {
		t.Errorf("recalled %v", got)
	}
}

func TestContradictionKeepsBothWithTimes(t *testing.T) {
	s := open(t, nil)
	about := &memory.RememberOptions{Category: "profile", About: "user.city"}
	berlin := remember(t, s, "The user lives in Berlin.", about)
	lisbon := remember(t, s, "The user lives in Lisbon.", about)
	old, err := s.Get(t.Context(), berlin.URI)
	if err != nil {
		t.Fatal(err)
	}
	if !old.Until.Equal(lisbon.Time) || lisbon.Replaces != berlin.URI {
		t.Errorf("%s held until %v; the new one of %v replaces %q", old.URI, old.Until, lisbon.Time, lisbon.Replaces)
	}
	if got := recall(t, s, "where does the user live, lives", nil); !slices.Equal(got, []memory.URI{lisbon.URI}) {
		t.Errorf("recalled %v", got)
	}
	if got := recall(t, s, "lives", &memory.RecallOptions{Ended: true}); len(got) != 2 || got[0] != lisbon.URI {
		t.Errorf("recalled %v with what has ended", got)
	}
}

func TestLevels(t *testing.T) {
	s := open(t, nil)
	text := "# Deploying\n\nDeployments happen on Tuesdays. Never on Fridays.\n\n## Rollback\n\nRun the script.\nTwice.\n"
	n := memory.Note{URI: "memory://agent/guides/deploy", Text: text}
	if _, err := s.Write(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	want := map[memory.Level]string{
		memory.Abstract: "Deploying",
		memory.Overview: "# Deploying\nDeployments happen on Tuesdays. Never on Fridays.\n## Rollback\nRun the script.",
		memory.Detail:   text,
		"":              text,
	}
	for level, want := range want {
		got, err := s.Read(t.Context(), n.URI, level)
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", level, got, err)
		}
	}
	folder, err := s.Read(t.Context(), "viking://agent/", memory.Overview)
	if err != nil || folder != "- memory://agent/guides/\n" {
		t.Errorf("the folder is %q, %v", folder, err)
	}
}

func TestErrorsHaveKinds(t *testing.T) {
	s := open(t, nil)
	ctx := t.Context()
	call := func(_ any, err error) error { return err }
	for want, errs := range map[string][]error{
		"invalid_uri": {
			call(s.Get(ctx, "http://user/x")), call(s.Get(ctx, "memory://user/../x")), call(s.Get(ctx, "memory://nobody/x")),
			call(s.Write(ctx, memory.Note{URI: "memory://user", Text: "x"})), call(s.Write(ctx, memory.Note{URI: "memory://user/x"})),
			call(s.Write(ctx, memory.Note{URI: "memory://user/x", Text: "x", Importance: 2})),
			call(s.Write(ctx, memory.Note{URI: "memory://user/x", Text: "\xff"})),
			call(s.Remember(ctx, "x", &memory.RememberOptions{Trust: "god"})),
			call(s.Recall(ctx, "x", &memory.RecallOptions{Limit: -1})),
			call(s.Read(ctx, "memory://user/x", "summary")), s.Move(ctx, "memory://user/a", "memory://user/a/b"),
			call(s.AddResource(ctx, " ", nil)), call(s.Commit(ctx, session.Session{}, nil)),
		},
		"not_found":   {call(s.Get(ctx, "memory://user/x")), call(s.Remove(ctx, "memory://user/x", false)), call(s.AddResource(ctx, "no/such/file", nil))},
		"unsupported": {call(s.Recall(ctx, "x", &memory.RecallOptions{Match: memory.MatchMeaning}))},
	} {
		for i, err := range errs {
			var e *memory.Error
			if !errors.As(err, &e) || e.Kind() != want {
				t.Errorf("%s %d: %v", want, i, err)
			}
		}
	}
}

func TestDirectoryOfTheReference(t *testing.T) {
	s := open(t, nil)
	done, err := s.Import(t.Context(), "testdata/openrath", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(memory.Transferred{Notes: 6, Others: 5}, done); d != "" {
		t.Errorf("imported (-want +got):\n%s", d)
	}
	for query, want := range map[string]memory.URI{
		"compact summaries":      "memory://user/memories/preferences/1f0c9ab2",
		"杭州":                     "memory://user/memories/preferences/77aa01ce",
		"linker error":           "memory://agent/skills/build",
		"when are deployments":   "memory://resources/handbook.md.d/part-1",
		"which timezone":         "memory://user/memories/profile/basics",
		`"before a merge" check`: "memory://resources/guide/overview",
	} {
		if got := recall(t, s, query, nil); len(got) == 0 || got[0] != want {
			t.Errorf("%s: recalled %v", query, got)
		}
	}
	out := filepath.Join(t.TempDir(), "out")
	if _, err := s.Export(t.Context(), out, nil); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(files(t, "testdata/openrath"), files(t, out)); d != "" {
		t.Errorf("exported (-want +got):\n%s", d)
	}
}

// files are what is in a directory, by name.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		all[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestExportKeepsAllOfANote(t *testing.T) {
	s, other := open(t, nil), open(t, nil)
	about := &memory.RememberOptions{
		About: "user.city", Importance: 0.75, Trust: memory.TrustTool, Meta: map[string]string{"k": "line\nbreak"},
		Source: memory.Source{Session: session.ContentID(session.Digest{1}), Chunk: 3},
	}
	remember(t, s, "---\nmemory: a text that looks like front matter\n---\n", about)
	remember(t, s, "The user lives in Lisbon.", about)
	dir := filepath.Join(t.TempDir(), "out")
	for _, step := range []func() (memory.Transferred, error){
		func() (memory.Transferred, error) { return s.Export(t.Context(), dir, nil) },
		func() (memory.Transferred, error) {
			return other.Import(t.Context(), dir, &memory.ImportOptions{Trust: true})
		},
	} {
		if done, err := step(); err != nil || done.Notes != 2 {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	entries, err := s.Tree(t.Context(), memory.Root, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.IsNote {
			continue
		}
		a, errA := s.Get(t.Context(), e.URI)
		b, errB := other.Get(t.Context(), e.URI)
		b.Created = a.Created
		if d := cmp.Diff(a, b); d != "" || errA != nil || errB != nil {
			t.Errorf("%s, %v, %v", d, errA, errB)
		}
	}
	if _, err := s.Export(t.Context(), dir, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("export over a directory: %v", err)
	}
}

func TestAddResource(t *testing.T) {
	s, dir := open(t, nil), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	add := func() memory.Ingested {
		t.Helper()
		got, err := s.AddResource(t.Context(), dir, &memory.ResourceOptions{To: "memory://resources/handbook"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	long := strings.Repeat("Nothing of interest happens in this paragraph of the handbook. ", 60)
	write("ops/deploy.md", "# Deploying\n\n"+long+"\n\n## Rollback\n\nRun the zanzibar script.\n")
	write("copy.md", "# Deploying\n\n"+long+"\n\n## Rollback\n\nRun the zanzibar script.\n")
	write("image.bin", "\x00\x01\x02\xff\xfe")
	got := add()
	if got.Files != 1 || got.Known != 1 || got.Notes < 3 || len(got.Skipped) != 1 || got.URI != "memory://resources/handbook" {
		t.Fatalf("added %+v", got)
	}
	if again := add(); again.Files != 0 || again.Known != 2 {
		t.Errorf("added again: %+v", again)
	}
	found, err := s.Recall(t.Context(), "rollback zanzibar", nil)
	if err != nil || len(found.Hits) == 0 || found.Hits[0].Trust != memory.TrustResource || found.Hits[0].Source.SHA256 == "" {
		t.Fatalf("recalled %+v, %v", found, err)
	}
	write("copy.md", "# Short\n\nOnly this is left, quetzal.\n")
	if changed := add(); changed.Files != 2 { // the other is no copy any more
		t.Errorf("added what has changed: %+v", changed)
	}
	if got := recall(t, s, "quetzal", nil); len(got) != 1 {
		t.Errorf("recalled %v", got)
	}
	data := &memory.ResourceOptions{Data: []byte("Pasted text about capybaras."), Meta: map[string]string{"from": "clipboard"}}
	if _, err := s.AddResource(t.Context(), "paste", data); err != nil {
		t.Fatal(err)
	}
	if got := recall(t, s, "capybaras", &memory.RecallOptions{Meta: data.Meta}); !slices.Equal(got, []memory.URI{"memory://resources/paste/0001"}) {
		t.Errorf("recalled %v", got)
	}
}

func TestClosed(t *testing.T) {
	s, err := local.Open(context.Background(), t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recall(t.Context(), "x", nil); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("recall: %v", err)
	}
}

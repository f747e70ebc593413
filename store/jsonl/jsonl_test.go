package jsonl

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// A file as OpenRath writes it, byte for byte.
const reference = `{"record_type": "header", "schema_version": 1, "id": "0198c0de-0000-4000-8000-000000000001", "created_at": "2026-11-21T04:25:41.123456+00:00", "parent_session_ids": ["0198c0de-0000-4000-8000-000000000002", "0198c0de-0000-4000-8000-000000000003"], "lineage_operator": "run_session_loop", "lineage_kind": "op_session_loop", "lineage_extras": [["loop.truncated", "true"]], "sandbox_backend": "local", "sandbox_spec": {"image": null, "entrypoint": null, "env": {"A": "b"}, "timeout_seconds": 1.5, "working_dir": "/w"}, "sandbox_handle_id": "0198c0de-0000-4000-8000-000000000004"}
{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "Zähle die Wörter 数 \u0001 </b>"}}
{"record_type": "chunk", "index": 1, "kind": "assistant", "payload": {"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"a\":1}"}}]}}
{"record_type": "chunk", "index": 2, "kind": "tool_result", "payload": {"tool_call_id": "c1", "name": "f", "content": "{\"ok\":false,\"error_kind\":\"unknown_tool\"}"}}
{"record_type": "chunk", "index": 3, "kind": "assistant", "payload": {"content": "done", "tool_calls": null}}
{"record_type": "trailer", "closed_at": "2026-11-21T04:25:42+00:00", "final_chunk_count": 4, "cumulative_usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}}
`

func TestReferenceFile(t *testing.T) {
	f, err := Read(strings.NewReader(reference), "ref")
	if err != nil {
		t.Fatal(err)
	}
	var back bytes.Buffer
	if err := f.Write(&back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reference, back.String()); diff != "" {
		t.Errorf("the file changed:\n%s", diff)
	}
	s, err := f.Session()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(s, time.Date(2026, 11, 21, 4, 25, 42, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f.Header, again.Header); diff != "" {
		t.Errorf("the header changed on its way through a session:\n%s", diff)
	}
	var b bytes.Buffer
	again.Trailer = f.Trailer
	if err := again.Write(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(reference, b.String()); diff != "" {
		t.Errorf("the chunks changed on their way through a session:\n%s", diff)
	}
	if s.At(2).Answer().Outcome != session.Failed {
		t.Error("a failed result is not known as such")
	}
}

func TestUnknownMembersAreKept(t *testing.T) {
	text := strings.Replace(reference, `"schema_version": 1,`, `"schema_version": 1, "zz": {"a": [1.0, "ü"]},`, 1)
	f, err := Read(strings.NewReader(text), "ref")
	if err != nil {
		t.Fatal(err)
	}
	var back bytes.Buffer
	if err := f.Write(&back); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(back.String(), `"zz": {"a": [1.0, "ü"]}`) {
		t.Errorf("lost: %s", back.String())
	}
}

func TestErrors(t *testing.T) {
	lines := strings.SplitAfter(reference, "\n")
	for _, test := range []struct {
		name, text, want string
		line             int
	}{
		{"empty", "", "there is no header", 1},
		{"cut header", lines[0][:50], "there is no header", 1},
		{"second header", lines[0] + lines[0], "a second header", 2},
		{"chunk first", lines[1], `a "chunk" comes before the header`, 1},
		{"unknown record", lines[0] + "{\"record_type\": \"x\"}\n", `unknown record_type "x"`, 2},
		{"bad JSON", lines[0] + "{\n", "unexpected", 2},
		{"unknown kind", lines[0] + `{"record_type": "chunk", "index": 0, "kind": "x", "payload": {}}` + "\n", `unknown chunk kind "x"`, 2},
		{"after the end", reference + lines[1], "after the trailer", 7},
	} {
		_, err := Read(strings.NewReader(test.text), "f")
		var e *FormatError
		if !errors.As(err, &e) || e.Line != test.line || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	odd := strings.NewReplacer("op_session_loop", "op_new", "0198c0de-0000-4000-8000-000000000002", "no uuid").Replace(reference)
	f, err := Read(strings.NewReader(odd), "f")
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Session()
	if err != nil || s.Lineage().Op != session.OpUnknown || len(s.Lineage().Parents) != 1 {
		t.Errorf("%+v, %v", s.Lineage(), err)
	}
}

// record draws any session that Rath can make.
func record(t *rapid.T) session.Record {
	text := rapid.OneOf(rapid.StringN(0, 20, -1), rapid.SampledFrom([]string{"", `{"ok":false}`, `{"ok": true}`, "\u2028", "a\xffb"}))
	str := func(name string) string { return text.Draw(t, name) }
	part := rapid.Custom(func(t *rapid.T) session.Part {
		return session.Part{
			Kind: session.PartKind(rapid.IntRange(0, 3).Draw(t, "kind")), Text: text.Draw(t, "text"),
			Data: rapid.SampledFrom([]string{"", "\x00\xff"}).Draw(t, "data"), Extra: rapid.SampledFrom([]string{"", `{"s":"1"}`}).Draw(t, "extra"),
		}
	})
	parts := func() []session.Part { return rapid.SliceOfN(part, 0, 3).Draw(t, "parts") }
	var content session.Transcript
	for range rapid.IntRange(0, 6).Draw(t, "chunks") {
		var c session.Chunk
		switch rapid.IntRange(0, 4).Draw(t, "chunk") {
		case 0:
			c = session.System(parts()...)
		case 1:
			c = session.User(session.Text(str("user")))
		case 2:
			c = session.Assistant(parts(), session.Call{ID: str("id"), Name: str("name"), Arguments: str("args")})
		case 3:
			c = session.Assistant(parts())
		case 4:
			c = session.ToolResult(session.Answer{CallID: str("id"), Tool: str("tool"), Outcome: session.Outcome(rapid.IntRange(0, 3).Draw(t, "outcome"))}, parts()...)
		}
		content = content.Append(c)
	}
	id, at := session.NewID()
	r := session.Record{ID: id, Content: content, Lineage: session.Lineage{
		Op: session.Op(rapid.IntRange(0, 9).Draw(t, "op")), Path: strings.ToValidUTF8(str("path"), ""), Run: rapid.SampledFrom([]string{"", "r"}).Draw(t, "run"), Time: at.UTC(),
	}}
	for range rapid.IntRange(0, 3).Draw(t, "parents") {
		parent, _ := session.NewID()
		r.Lineage.Parents = append(r.Lineage.Parents, session.Parent{ID: parent, Role: rapid.SampledFrom([]session.Role{session.RoleInput, session.RolePrompt, "own"}).Draw(t, "role")})
	}
	if rapid.Bool().Draw(t, "extras") {
		r.Lineage.Extras = []session.Extra{{Key: "k", Value: strings.ToValidUTF8(str("extra"), "")}}
	}
	if rapid.Bool().Draw(t, "used") {
		r.Usage = session.Usage{Calls: 1, Input: 3, Output: 4, Cost: session.Cost{Unpriced: 1}}
	}
	if rapid.Bool().Draw(t, "placed") {
		r.Placement = sandbox.Placement{Backend: "local", Level: "host", ID: "x", Spec: sandbox.Spec{WorkingDir: "/w", Timeout: time.Minute}}
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := record(t)
		f, err := Encode(session.Restore(want), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&b, "f")
		if err != nil {
			t.Fatal(err)
		}
		s, err := back.Session()
		if err != nil {
			t.Fatal(err)
		}
		got := s.Record()
		if got.Content.Digest() != want.Content.Digest() {
			t.Fatalf("the digest changed")
		}
		got.Content, want.Content = session.Transcript{}, session.Transcript{}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmp.AllowUnexported(session.Transcript{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Whatever byte a crash cuts the file at, what is whole is loaded.
func TestEveryCutLoads(t *testing.T) {
	for n := range len(reference) {
		f, err := Read(strings.NewReader(reference[:n]), "f")
		lines := strings.Count(reference[:n], "\n")
		switch {
		case lines == 0 && !errors.Is(err, ErrEmpty):
			t.Fatalf("cut at %d: %v", n, err)
		case lines > 0 && (err != nil || len(f.Chunks) != min(lines-1, 4)):
			t.Fatalf("cut at %d: %d chunks of %d lines, %v", n, len(f.Chunks), lines, err)
		}
	}
}

func TestWriter(t *testing.T) {
	dir := Dir(filepath.Join(t.TempDir(), "sessions"))
	in := session.FromUser("hello")
	if err := Save(string(dir), in, time.Now()); err != nil {
		t.Fatal(err)
	}
	id, at := in.Reserve()
	draft := in.Derive(in.Transcript(), session.Step{ID: id, Time: at, Path: "agent"})
	w, err := Create(string(dir), draft)
	if err != nil {
		t.Fatal(err)
	}
	reply := session.Assistant([]session.Part{session.Text("hi")})
	if err := w.Append(reply); err != nil {
		t.Fatal(err)
	}
	partial, err := dir.Load(id.String())
	if err != nil || partial.Len() != 2 || partial.Text() != "hi" {
		t.Fatalf("partial: %d chunks, %v", partial.Len(), err)
	}
	final := in.Derive(in.Transcript().Append(reply), session.Step{
		ID: id, Time: at, Path: "agent", Usage: session.Usage{Calls: 1, Input: 5, Output: 1}, Extras: []session.Extra{{Key: "k", Value: "v"}},
	})
	if err := w.Close(final, time.Now()); err != nil {
		t.Fatal(err)
	}
	got, err := dir.Load("@")
	if err != nil {
		t.Fatal(err)
	}
	if got.ID() != id || got.Digest() != final.Digest() || got.Usage() != final.Usage() || len(got.Parents()) != 1 {
		t.Errorf("%+v", got.Record())
	}
	if diff := cmp.Diff(final.Lineage(), got.Lineage()); diff != "" {
		t.Error(diff)
	}
	infos, _ := dir.List()
	if len(infos) != 2 || infos[0].Partial || infos[1].Partial {
		t.Errorf("%+v", infos)
	}
}

func TestFind(t *testing.T) {
	dir := Dir(t.TempDir())
	if _, err := dir.Find("@"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	a, b := session.FromUser("a"), session.FromUser("b")
	for _, s := range []session.Session{a, b} {
		if err := Save(string(dir), s, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := dir.Find(a.ID().String()[:4]); !errors.As(err, &ambiguous) || len(ambiguous.IDs) != 2 {
		t.Error(err)
	}
	if info, err := dir.Find(strings.ToUpper(a.ID().String())); info.ID != a.ID() || err != nil {
		t.Error(info, err)
	}
}

// The last session is found whatever else lies newer in the folder; by its name it is
// said what is wrong with it.
func TestFindLastPassesOver(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"empty":      func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"cut header": func(path string) error { return os.WriteFile(path, []byte(`{"record_type":"hea`), 0o600) },
		"no header":  func(path string) error { return os.WriteFile(path, []byte("{\"record_type\":\"chunk\"}\n"), 0o600) },
		"folder":     func(path string) error { return os.Mkdir(path, 0o700) },
		"dead link":  func(path string) error { return os.Symlink("nowhere", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := Dir(t.TempDir())
			s := session.FromUser("a")
			other, _ := session.NewID()
			if err := Save(string(dir), s, time.Now()); err != nil {
				t.Fatal(err)
			}
			old := filepath.Join(string(dir), s.ID().String()+Suffix)
			if err := os.Chtimes(old, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(string(dir), other.String()+Suffix)); err != nil {
				t.Skip(err)
			}
			if info, err := dir.Find("@"); info.ID != s.ID() || err != nil {
				t.Error(info, err)
			}
			if _, err := dir.Load(other.String()); err == nil || errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		})
	}
}

func TestUnwritable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Create(filepath.Join(file, "sessions"), session.FromUser("x"))
	var e *WriteError
	if !errors.As(err, &e) || e.Hint() == "" {
		t.Error(err)
	}
}

func TestChangedFileIsNoticed(t *testing.T) {
	f, err := Encode(session.FromUser("pay 10"), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	f.Write(&b)
	changed, err := Read(strings.NewReader(strings.Replace(b.String(), "pay 10", "pay 99", 1)), "f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := changed.Session(); err == nil {
		t.Error("a changed chunk was not noticed")
	}
}

func FuzzRead(f *testing.F) {
	f.Add(reference)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Read(strings.NewReader(text), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := file.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b, "f"); err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, b.String())
		}
		_, _ = file.Session()
	})
}

func ExampleRead() {
	f, err := Read(strings.NewReader(reference), "session.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := f.Session()
	fmt.Println(s.Len(), s.Text(), s.Lineage().Op, err)
	// Output: 4 done forward <nil>
}

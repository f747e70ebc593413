package jsonl

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// throughRecord imports a file and encodes the session again, as one that was kept at
// rest.
func throughRecord(t interface {
	Helper()
	Fatal(...any)
}, text string) (session.Session, string) {
	t.Helper()
	f, err := Read(strings.NewReader(text), "f")
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Import()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(session.Restore(s.Record()), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := again.Write(&b); err != nil {
		t.Fatal(err)
	}
	return s, b.String()
}

// sorted has the members of each line in one order, and every value as it was written.
func sorted(t *testing.T, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		v := jsontext.Value(line)
		if err := v.Format(jsontext.ReorderRawObjects(true)); err != nil {
			t.Fatal(err)
		}
		out.WriteString(v.String() + "\n")
	}
	return out.String()
}

func TestImportComesBack(t *testing.T) {
	lines := strings.SplitAfter(reference, "\n")
	for name, text := range map[string]string{
		"as it is":        reference,
		"partial":         strings.Join(lines[:3], ""),
		"header only":     lines[0],
		"another offset":  strings.Replace(reference, "04:25:41.123456+00:00", "12:25:41.123456+08:00", 1),
		"unknown kind":    strings.Replace(reference, "op_session_loop", "op_new", 1),
		"wrong parent":    strings.Replace(reference, "0198c0de-0000-4000-8000-000000000002", "no uuid", 1),
		"extra no text":   strings.Replace(reference, `["loop.truncated", "true"]`, `["loop.truncated", true], ["n", 1.50]`, 1),
		"header member":   strings.Replace(reference, `"schema_version": 1`, `"schema_version": 3, "zz": {"a": [1.0, "ü"]}`, 1),
		"spec member":     strings.Replace(reference, `"working_dir": "/w"`, `"working_dir": "/w", "gpu": true`, 1),
		"chunk member":    strings.Replace(reference, `"index": 1`, `"index": 1, "at": "noon"`, 1),
		"payload member":  strings.Replace(reference, `"content": "done"`, `"content": "done", "refusal": null`, 1),
		"odd index":       strings.Replace(reference, `"index": 3`, `"index": 7`, 1),
		"trailer member":  strings.Replace(reference, `"total_tokens": 12`, `"total_tokens": 12, "cached": 3`, 1),
		"unknown tokens":  strings.Replace(reference, `"completion_tokens": 2`, `"completion_tokens": null`, 1),
		"wrong count":     strings.Replace(reference, `"final_chunk_count": 4`, `"final_chunk_count": 9`, 1),
		"empty reply":     strings.Replace(reference, `"content": "done"`, `"content": ""`, 1),
		"emoji and lines": strings.Replace(reference, "Zähle", `👩‍🚀 \"\\\n`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			s, got := throughRecord(t, text)
			if diff := cmp.Diff(sorted(t, text), sorted(t, got)); diff != "" {
				t.Error(diff)
			}
			if name == "as it is" && got != text {
				t.Errorf("not the same bytes:\n%s", cmp.Diff(text, got))
			}
			if partial := !strings.Contains(text, "trailer"); IsPartial(s.Lineage()) != partial {
				t.Errorf("partial: %v", !partial)
			}
			tokens, ok := ImportedTokens(s.Lineage())
			if counted := strings.Contains(text, "total_tokens"); ok != counted || counted && tokens != 12 {
				t.Errorf("%d tokens, %v", tokens, ok)
			}
			for _, e := range Notes(s.Lineage().Extras) {
				if e.Key == OriginalKey {
					t.Error("the note on the file is shown")
				}
			}
		})
	}
}

// What Rath writes itself comes back too, and says nothing that a session cannot say.
func TestImportOfOwnFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f, err := Encode(session.Restore(record(t)), time.Unix(1e9, 0))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, got := throughRecord(t, b.String()); got != b.String() {
			t.Fatal(cmp.Diff(b.String(), got))
		}
	})
}

func TestScan(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "sessions")
	s := session.FromUser("x")
	if err := Save(dir, s, time.Now()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, s.ID().String()+Suffix)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{home, dir, file} {
		if files, err := Scan(path); err != nil || !cmp.Equal(files, []string{file}) {
			t.Errorf("%s: %v, %v", path, files, err)
		}
	}
	if _, err := Scan(filepath.Join(home, "nothing")); err == nil {
		t.Error("what is not there was found")
	}
}

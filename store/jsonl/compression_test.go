package jsonl_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/jsonl"
)

// compressed is the file of a compressed session as OpenRath writes it.
const compressed = `{"record_type": "header", "schema_version": 1, "id": "0198c0de-0000-7000-8000-000000000009", "created_at": "2026-03-01T09:30:00+00:00", "parent_session_ids": ["0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000002"], "lineage_operator": "compress_session", "lineage_kind": "op_session_compress", "lineage_extras": [["compression.lossy", "true"], ["compression.rows_out", "1"]], "sandbox_backend": null, "sandbox_spec": null, "sandbox_handle_id": null}
{"record_type": "chunk", "index": 0, "kind": "user", "payload": {"content": "They talked."}}
{"record_type": "trailer", "closed_at": "2026-03-01T09:30:01+00:00", "final_chunk_count": 1, "cumulative_usage": null}
`

// A compression of OpenRath's is read as one of ours, and what it says of itself is kept.
func TestReadCompression(t *testing.T) {
	f, err := jsonl.Read(strings.NewReader(compressed), "x")
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Session()
	if err != nil {
		t.Fatal(err)
	}
	l := s.Lineage()
	if l.Op != session.OpCompress || len(l.Parents) != 2 || l.Parents[0].Role != session.RoleInput || l.Parents[1].Role != session.RolePrompt {
		t.Errorf("%+v", l)
	}
	checkCompression(t, l)
	var b bytes.Buffer
	if err := f.Write(&b); err != nil || b.String() != compressed {
		t.Errorf("it is written as %s, %v", b.String(), err)
	}
}

// A compression of ours says in its file what OpenRath's would.
func TestWriteCompression(t *testing.T) {
	c := &flow.Compressor{Model: scripted.New(scripted.Reply{Text: "They talked."})}
	s, err := c.Forward(t.Context(), session.New(session.User(session.Text("hello")), session.Assistant([]session.Part{session.Text("hi")})))
	if err != nil {
		t.Fatal(err)
	}
	f, err := jsonl.Encode(s, time.Now())
	var b bytes.Buffer
	if err == nil {
		err = f.Write(&b)
	}
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(b.String(), "\n")
	for _, want := range []string{`"op_session_compress"`, `["compression.lossy", "true"]`, `["compression.rows_out", "1"]`} {
		if !strings.Contains(header, want) {
			t.Errorf("%s is not in %s", want, header)
		}
	}
	back, err := f.Session()
	if err != nil {
		t.Fatal(err)
	}
	checkCompression(t, back.Lineage())
}

func checkCompression(t *testing.T, l session.Lineage) {
	t.Helper()
	got := map[string]string{}
	for _, e := range l.Extras {
		got[e.Key] = e.Value
	}
	if got["compression.lossy"] != "true" || got["compression.rows_out"] != "1" {
		t.Errorf("%+v", l.Extras)
	}
}

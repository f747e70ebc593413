package evidence_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/sqlite"
)

// saying is a model that gives these replies, each of which costs the same.
func saying(texts ...string) llm.Model {
	var replies []scripted.Reply
	for _, text := range texts {
		replies = append(replies, scripted.Reply{Text: text, Usage: &session.Usage{Input: 100, Output: 10, Cost: session.Cost{Nano: 1_000_000}}})
	}
	return scripted.New(replies...)
}

// routed is the dossier of a run in which a selector chose twice, once after an answer that
// was none, and a compressor took out what it had come to.
func routed(t *testing.T) *evidence.Dossier {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rath.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	choose := saying(`{"choice":"tech","reason":"it is <b>broken</b>"}`, "tech or so", `{"choice":"done","reason":"answered"}`)
	w := flow.Sequence{
		&flow.Route{Selector: &flow.Selector{Name: "desk", Model: choose}, Choices: []flow.Workflow{&flow.Agent{Name: "tech", Model: saying("Turn it off and on.")}}},
		&flow.Compressor{Name: "short", Model: saying("It was broken, and an answer was given.")},
		&flow.Agent{Name: "last", Model: saying("All done.")},
	}
	h, err := run.New(st, nil).Start(t.Context(), "desk", w, session.FromUser("It does not work."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); err != nil {
		t.Fatal(err)
	}
	return collect(t, st, h.ID(), nil)
}

// What was chosen is told with its reason and its calls, which have a session and a price;
// what was taken out is told with the digest by which the summary names it, and where it is.
func TestChoicesAndRemovals(t *testing.T) {
	d := routed(t)
	f := d.Findings
	type choice struct {
		Choice, Reason string
		Calls          int
	}
	var got []choice
	for _, c := range f.Choices {
		got = append(got, choice{c.Choice, c.Reason, len(c.Effects)})
		if c.Path != "desk" {
			t.Errorf("%+v", c)
		}
	}
	if diff := cmp.Diff([]choice{{"tech", "it is <b>broken</b>", 1}, {"done", "answered", 2}}, got); diff != "" {
		t.Error(diff)
	}
	var reasons []string
	for _, m := range f.Models {
		if m.Session.IsZero() || m.Usage.Total() != 110 || (m.For == "") != (m.Reply != session.Digest{}) {
			t.Errorf("%+v", m)
		}
		reasons = append(reasons, m.Path+":"+m.For)
	}
	if got := strings.Join(reasons, " "); got != "desk:choice tech: desk:choice desk:choice short:summary last:" {
		t.Error(got)
	}
	if len(f.Removed) != 1 {
		t.Fatalf("%+v", f.Removed)
	}
	r := f.Removed[0]
	summary := d.Records.Contents[0]
	for _, c := range d.Records.Contents {
		if c.Digest == r.Added[0] {
			summary = c
		}
	}
	if r.Len != 2 || len(r.Removed) != 2 || !strings.Contains(string(summary.Value), `"transcript:`+r.Digest.String()+`"`) {
		t.Errorf("%+v, %s", r, summary.Value)
	}
}

// All formats tell it, and verify; nobody can tell otherwise of it.
func TestChoicesAreVerified(t *testing.T) {
	d := routed(t)
	r := d.Findings.Removed[0]
	for format, want := range map[string][]string{
		"html": {"it is &lt;b&gt;broken", "a choice for it", "a summary for it", "rath show " + r.From.String() + "@2", "transcript:" + r.Digest.String()},
		"md":   {`it is &lt;b>broken`, "a choice for it", "a summary for it", "rath show " + r.From.String() + "@2", "transcript:" + r.Digest.String()},
		"json": {`"choices"`},
	} {
		data := write(t, d, format)
		if v, err := evidence.Verify(data); err != nil || !v.Page {
			t.Errorf("%s: %v", format, err)
		}
		for _, text := range want {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s does not tell %q", format, text)
			}
		}
	}
	for name, change := range map[string]func(*evidence.Dossier){
		"findings.choices": func(d *evidence.Dossier) { d.Findings.Choices[0].Choice = "billing" },
		"findings.models":  func(d *evidence.Dossier) { d.Findings.Models[0].For = "" },
		"findings.removed": func(d *evidence.Dossier) { d.Findings.Removed[0].Len = 1 },
		"findings":         func(d *evidence.Dossier) { d.Version = 3 },
	} {
		var forged evidence.Dossier
		if err := json.Unmarshal(write(t, d, "json"), &forged); err != nil {
			t.Fatal(err)
		}
		change(&forged)
		if _, err := evidence.Verify(write(t, &forged, "json")); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

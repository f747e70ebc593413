package evidence_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// formats are the ways to write a dossier, by the ends of their files' names.
var formats = map[string]func(*evidence.Dossier, io.Writer) error{
	"json": (*evidence.Dossier).WriteJSON,
	"md":   (*evidence.Dossier).WriteMarkdown,
	"html": (*evidence.Dossier).WriteHTML,
}

func write(t testing.TB, d *evidence.Dossier, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := formats[format](d, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func collect(t testing.TB, st store.Store, id session.ID, opts *evidence.Options) *evidence.Dossier {
	t.Helper()
	d, err := evidence.Collect(context.Background(), st, id, opts)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGolden(t *testing.T) {
	d := newFixture(t).dossier(nil)
	for format := range formats {
		t.Run(format, func(t *testing.T) {
			file := filepath.Join("testdata", "dossier."+format)
			got := write(t, d, format)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("%s is another now (rewrite with -update): %.4000s", file, diff)
			}
			if r, err := evidence.Verify(want); err != nil || !r.Page {
				t.Errorf("a file that was written once does not verify any more: %+v, %v", r, err)
			}
		})
	}
}

// TestOlder verifies files of older versions, as the program that made them wrote them.
func TestOlder(t *testing.T) {
	for _, version := range []string{"version2", "version3"} {
		for format := range formats {
			verifyOlder(t, filepath.Join("testdata", version, "dossier."+format))
		}
	}
}

func verifyOlder(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := evidence.Verify(data)
	if err != nil || !r.Page || r.Events.Verified == 0 {
		t.Errorf("%s: %+v, %v", file, r, err)
	}
	changed := bytes.Replace(data, []byte("the disk is full"), []byte("the disk was full"), 1)
	if _, err := evidence.Verify(changed); err == nil || bytes.Equal(data, changed) {
		t.Errorf("%s: a change is not found: %v", file, err)
	}
}

// told is a dossier in short.
func told(d *evidence.Dossier) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	f := d.Findings
	if a := f.Answer; a != nil {
		add("answer by %q with %q, %d sessions, %d merges", a.Path, a.Model, len(a.Lineage), len(a.Merged))
		for _, u := range a.Tools {
			add("answer used %s: %d calls, %d failed", u.Tool, u.Calls, u.Failed)
		}
	}
	for _, r := range f.Runs {
		add("run %s %s, %d changes", r.Name, r.State, len(r.States))
	}
	for _, c := range f.Tools {
		add("call %s by %s: check %s, %s %s, attempts %d, edited %v, asked %v", c.Tool, c.Path, c.Check, c.Outcome, c.Failure, c.Attempts, c.Edited != "", c.Question != "")
	}
	for _, q := range f.Questions {
		add("question %s %s: %s by %s, %s", q.Kind, q.Tool, q.Verdict, q.By, q.Text)
	}
	for _, m := range f.Models {
		add("model for %s: %s, placed %v, offered %d", m.Path, m.Stop, !m.Session.IsZero(), len(m.Offered))
	}
	for _, m := range f.Memory {
		add("memory %s %s", m.Name, m.Class)
		if m.Store != "" {
			add("  on %.40q, %d hits, %d notes, session %v, in a call %v: %s", m.On, len(m.Hits), len(m.Notes), !m.Session.IsZero(), m.Call > 0, m.Error)
		}
		for _, h := range m.Hits {
			add("  hit %s %q: %.4f, words %.2f, meaning %.2f, told %v", h.URI, h.Trust, h.Score, h.Words, h.Meaning, h.Told)
		}
	}
	for _, r := range f.Rejected {
		reason, _, _ := strings.Cut(r.Reason, ":")
		add("rejected: %s %s by %s: %s", r.Why, r.What, r.Path, reason)
	}
	for _, r := range f.Removed {
		add("removed %d, kept %d, added %d", len(r.Removed), r.Kept, len(r.Added))
	}
	for _, s := range f.Settled {
		add("settled %s %s: %s by %s, source %v", s.Kind, s.Name, s.Verdict, s.By, !s.Source.IsZero())
	}
	for _, p := range f.Totals.Paths {
		add("total of %s: %d models, %d tools, %s", p.Path, p.Models, p.Tools, p.Usage.Cost)
	}
	add("total %s, of the answer %s", f.Totals.All.Cost, f.Totals.Answer.Cost)
	for _, r := range d.Redactions {
		add("redacted %s %d times", r.Rule, r.Times)
	}
	return lines
}

func TestStory(t *testing.T) {
	st := openStore(t)
	id, out := play(t, st)
	d := collect(t, st, id, nil)
	want := []string{
		`answer by "edit" with "scripted:", 7 sessions, 1 merges`,
		"answer used read: 2 calls, 1 failed",
		"answer used fetch: 1 calls, 1 failed",
		"answer used deploy: 1 calls, 1 failed",
		"run review succeeded, 1 changes",
		"call read by draft: check passed, ok , attempts 1, edited false, asked false",
		"call fetch by draft: check passed, failed tool_execution_exception, attempts 1, edited false, asked false",
		"call read by draft: check failed, failed invalid_tool_arguments, attempts 0, edited false, asked false",
		"call deploy by draft: check passed, denied tool_denied, attempts 0, edited false, asked true",
		"question approval deploy: reject by kim, not on a Friday",
		"memory recall read_only",
		"memory note idempotent",
		"rejected: rejected approval deploy by draft: not on a Friday",
		"rejected: unused forward by gamble: ",
		"removed 7, kept 3, added 1",
		"total of 0/style: 1 models, 0 tools, $0.001500",
		"total of 1/facts: 1 models, 0 tools, unknown",
		"total of draft: 3 models, 4 tools, $0.008550",
		"total of edit: 1 models, 0 tools, $0.001500",
		"total of gamble: 1 models, 0 tools, $0.001500",
		"total " + d.Findings.Totals.All.Cost.String() + ", of the answer " + out.Total().Cost.String(),
		"redacted github 1 times",
	}
	got := told(d)
	models := 0
	for i := 0; i < len(got); {
		if strings.HasPrefix(got[i], "model for ") { // branches run at the same time
			if !strings.Contains(got[i], "placed true") {
				t.Error(got[i])
			}
			models++
			got = append(got[:i], got[i+1:]...)
			continue
		}
		i++
	}
	if diff := cmp.Diff(want, got); diff != "" || models != 7 {
		t.Errorf("%d models\n%s", models, diff)
	}
	if d.Findings.Answer.Place.Backend != "local" || d.Findings.Answer.Session != out.ID() {
		t.Errorf("%+v", d.Findings.Answer)
	}
	for format := range formats {
		data := write(t, d, format)
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%s has the secret in it", format)
		}
		r, err := evidence.Verify(data)
		if err != nil || !r.Page || r.Events.Attested != 0 || r.Contents.Attested != 1 || r.Subject != d.Subject || r.Redacted != 1 {
			t.Errorf("%s: %+v, %v", format, r, err)
		}
	}
	asSession := collect(t, st, out.ID(), &evidence.Options{NoRedact: true})
	r, err := evidence.Verify(write(t, asSession, "html"))
	if err != nil || r.Contents.Attested+r.Sessions.Attested+r.Redacted != 0 || len(asSession.Records.Runs) != 1 {
		t.Errorf("the dossier of the session: %+v, %v", r, err)
	}
	if diff := cmp.Diff(d.Findings.Rejected, asSession.Findings.Rejected); diff != "" {
		t.Error(diff)
	}
}

func TestFixture(t *testing.T) {
	want := []string{
		`answer by "pay" with "openai:gpt-test", 2 sessions, 0 merges`,
		"answer used transfer: 1 calls, 0 failed",
		"run pay <b> succeeded, 3 changes",
		"call transfer by pay: check passed, ok , attempts 2, edited true, asked true",
		"call refund by pay: check passed, ok , attempts 1, edited false, asked false",
		"question approval transfer: edit by lee, ",
		"question review : expired by , ",
		"model for pay: stop, placed true, offered 1",
		"model for other: , placed false, offered 0",
		"model for pay: stop, placed true, offered 1",
		"memory recall read_only",
		"  on \"</script><img src=x onerror=alert(1)> ``\", 2 hits, 0 notes, session true, in a call false: ",
		`  hit memory://user/memories/facts/0a1b2c3d "user": 0.0325, words 7.25, meaning 0.81, told true`,
		`  hit memory://resources/bills.md/0001 "resource": 0.0164, words 3.00, meaning 0.00, told false`,
		"memory write idempotent",
		`  on "memory://user/memories/facts/1c2d3e4f", 0 hits, 1 notes, session true, in a call true: `,
		"memory write idempotent",
		`  on "memory://user/x", 0 hits, 1 notes, session true, in a call false: the disk is full`,
		"memory recall read_only",
		`  on "", 0 hits, 0 notes, session false, in a call false: `,
		"memory read read_only",
		`  on "memory://user", 0 hits, 0 notes, session false, in a call false: `,
		"memory read read_only",
		`  on "memory://user/memories/facts/1c2d3e4f", 0 hits, 1 notes, session false, in a call false: `,
		"memory list read_only",
		`  on "memory://user", 0 hits, 0 notes, session false, in a call false: `,
		"memory remove mutating",
		`  on "memory://user/y", 0 hits, 0 notes, session false, in a call false: `,
		"memory move mutating",
		`  on "memory://user/a", 0 hits, 0 notes, session false, in a call false: `,
		"memory add idempotent",
		`  on "bills.md", 0 hits, 0 notes, session false, in a call false: `,
		"memory commit idempotent",
		`  on "0198c0de-0000-7000-8000-000000000004", 0 hits, 1 notes, session false, in a call false: `,
		"memory recall read_only",
		"memory remove mutating",
		`  on "memory://user/0198c0de-0000-7000-8000-00", 0 hits, 0 notes, session false, in a call false: `,
		"memory note idempotent",
		"rejected: expired review by : nobody answered in time",
		"rejected: failed memory write by pay: the disk is full",
		"rejected: failed memory note by : the disk is full",
		"rejected: cancelled model openai:gpt-test by other: ",
		"rejected: failed forward by other: call model",
		"settled tool transfer: not_done by ada, source false",
		"settled tool refund: result by , source true",
		"total of other: 1 models, 0 tools, unknown",
		"total of pay: 2 models, 2 tools, $0.001000 + unknown for 1 calls",
		"total $0.001000 + unknown for 2 calls, of the answer $0.001000 + unknown for 1 calls",
		"redacted named 4 times",
		"redacted named 1 times",
		"redacted named 1 times",
		"redacted named 1 times",
		"redacted named 1 times",
		"redacted named 1 times",
		"redacted pattern 0 16 times",
		"redacted pattern 1 1 times",
		"redacted pattern 2 1 times",
	}
	d := newFixture(t).dossier(&evidence.Options{Patterns: []*regexp.Regexp{regexp.MustCompile(`AC(ME)`), regexp.MustCompile("2026-03-01T09:30:00Z|[0-9a-f]{64}|hunter2"), regexp.MustCompile("due")}})
	got := told(d)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFlippedByte(t *testing.T) {
	d := newFixture(t).dossier(nil)
	for format := range formats {
		t.Run(format, func(t *testing.T) {
			data := write(t, d, format)
			rapid.Check(t, func(t *rapid.T) {
				at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
				changed := bytes.Clone(data)
				changed[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "by"))
				if _, err := evidence.Verify(changed); err == nil {
					t.Fatalf("byte %d can be changed to %q", at, changed[at])
				}
				if _, err := evidence.Verify(append(bytes.Clone(data[:at]), data[at+1:]...)); err == nil {
					t.Fatalf("byte %d can be left out", at)
				}
			})
			if _, err := evidence.Verify(append(bytes.Clone(data), '\n')); err == nil {
				t.Error("bytes can be added")
			}
		})
	}
}

// reseal seals a changed JSON dossier again, as docs/formats/dossier.md says.
func reseal(data []byte) []byte {
	at := bytes.IndexByte(data, ':') + 3
	sum := sha256.Sum256(append(bytes.Clone(data[:at]), data[at+64:]...))
	return append(append(bytes.Clone(data[:at]), hex.EncodeToString(sum[:])...), data[at+64:]...)
}

// TestForged changes dossiers and seals them again.
func TestForged(t *testing.T) {
	d := newFixture(t).dossier(nil)
	for _, test := range []struct {
		name   string
		change func(*evidence.Dossier)
		want   string
	}{
		{"nothing", func(*evidence.Dossier) {}, ""},
		{"an event's body", func(d *evidence.Dossier) {
			e := &d.Records.Runs[0].Events[0]
			e.Body = bytes.Replace(e.Body, []byte("p1"), []byte("p2"), 1)
		}, "event 1 of run 0198c0de-0000-7000-8000-000000000001: its hash is not"},
		{"an event's time", func(d *evidence.Dossier) {
			e := &d.Records.Runs[0].Events[4]
			e.Time = e.Time.AddDate(0, 0, 1)
		}, "event 5 of run"},
		{"an event's hash", func(d *evidence.Dossier) { d.Records.Runs[0].Events[1].Hash[0]++ }, "event 2 of run"},
		{"a missing event", func(d *evidence.Dossier) {
			r := &d.Records.Runs[0]
			r.Events = append(r.Events[:2:2], r.Events[3:]...)
		}, "event 4 of run 0198c0de-0000-7000-8000-000000000001: it follows event 2"},
		{"a redacted body", func(d *evidence.Dossier) {
			for i := range d.Records.Runs[0].Events {
				if e := &d.Records.Runs[0].Events[i]; e.Redacted != (session.Digest{}) {
					e.Body = bytes.Replace(e.Body, []byte("ACME"), []byte("EVIL"), 1)
					return
				}
			}
		}, "its hash, as it stands redacted, is not"},
		{"a body said to be redacted", func(d *evidence.Dossier) {
			e := &d.Records.Runs[0].Events[0]
			e.Body = bytes.Replace(e.Body, []byte("p1"), []byte("p2"), 1)
			e.Redacted = sha256.Sum256(e.Body)
		}, "no redacted value is in it"},
		{"a content", func(d *evidence.Dossier) {
			for i := range d.Records.Contents {
				c := &d.Records.Contents[i]
				c.Value = bytes.Replace(c.Value, []byte("You pay bills"), []byte("You steal"), 1)
			}
		}, "the SHA-256 of what is there is"},
		{"a missing content", func(d *evidence.Dossier) { d.Records.Contents = d.Records.Contents[1:] }, "which is not there"},
		{"a content twice", func(d *evidence.Dossier) {
			d.Records.Contents = append(d.Records.Contents, d.Records.Contents[0])
		}, "it comes twice"},
		{"a link", func(d *evidence.Dossier) {
			l := d.Records.Links
			l[0].Chunk, l[1].Chunk = l[1].Chunk, l[0].Chunk
		}, "transcript "},
		{"a missing link", func(d *evidence.Dossier) { d.Records.Links = d.Records.Links[1:] }, "does not come before it"},
		{"a session's length", func(d *evidence.Dossier) { d.Records.Sessions[0].Len++ }, "session 0198c0de-0000-7000-8000-00000000000"},
		{"another transcript", func(d *evidence.Dossier) {
			for i := range d.Records.Sessions {
				if h := &d.Records.Sessions[i]; h.ID == idOf(4) {
					h.Digest, h.Len = d.Records.Sessions[0].Digest, d.Records.Sessions[0].Len
				}
			}
		}, "it tells of session 0198c0de-0000-7000-8000-000000000004"},
		{"a decision", func(d *evidence.Dossier) { d.Records.Runs[0].Interrupts[0].By = "mallory" }, "question pay/transfer:c%2F1/c/1 of run"},
		{"a finding", func(d *evidence.Dossier) { d.Findings.Totals.All.Cost.Nano = 1 }, "findings.totals: it is not what follows"},
		{"a finding left out", func(d *evidence.Dossier) { d.Findings.Rejected = nil }, "findings.rejected"},
		{"the subject", func(d *evidence.Dossier) { d.Subject.Kind = "session" }, "findings."},
		{"a hit's score", func(d *evidence.Dossier) { d.Findings.Memory[0].Hits[1].Score = 1 }, "findings.memory"},
		{"what was told", func(d *evidence.Dossier) { d.Findings.Memory[0].Hits[1].Told = true }, "findings.memory"},
		{"a hit left out", func(d *evidence.Dossier) { d.Findings.Memory[0].Hits = d.Findings.Memory[0].Hits[:1] }, "findings.memory"},
		{"a hit's record", func(d *evidence.Dossier) {
			for i := range d.Records.Contents {
				c := &d.Records.Contents[i]
				c.Value = bytes.Replace(c.Value, []byte("0.0325"), []byte("0.9325"), 1)
			}
		}, "the SHA-256 of what is there is"},
		{"a version later", func(d *evidence.Dossier) { d.Version++ }, "not a dossier: it has version 5"},
		{"a version before", func(d *evidence.Dossier) { d.Version = 2 }, "findings.memory: it is not what follows"},
		{"no version", func(d *evidence.Dossier) { d.Version = 1 }, "not a dossier: it has version 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var forged evidence.Dossier
			if err := json.Unmarshal(write(t, d, "json"), &forged); err != nil {
				t.Fatal(err)
			}
			test.change(&forged)
			_, err := evidence.Verify(write(t, &forged, "json"))
			if got := fmt.Sprint(err); (err == nil) != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%v, want %q", got, test.want)
			}
			var m *evidence.Mismatch
			if err != nil && !errors.Is(err, evidence.ErrFormat) && !errors.As(err, &m) {
				t.Errorf("%T", err)
			}
		})
	}
	for name, change := range map[string][2]string{
		"an unknown member": {`"version": 4,`, `"version": 4, "verdict": "fine",`},
		"a member twice":    {`"version": 4,`, `"version": 4, "version": 4,`},
		"another case":      {`"collected"`, `"Collected"`},
		"not JSON":          {`"version": 4,`, `"version": 1;`},
	} {
		data := reseal(bytes.Replace(write(t, d, "json"), []byte(change[0]), []byte(change[1]), 1))
		if _, err := evidence.Verify(data); !errors.Is(err, evidence.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := evidence.Verify([]byte("hello")); !errors.Is(err, evidence.ErrFormat) {
		t.Error(err)
	}
}

// TestChangedPage changes what people read, and leaves the records.
func TestChangedPage(t *testing.T) {
	d := newFixture(t).dossier(nil)
	data := write(t, d, "html")
	changed := bytes.Replace(data, []byte("You pay bills."), []byte("You pay crooks."), 1)
	r, err := evidence.Verify(changed)
	line := 1 + bytes.Count(data[:bytes.Index(data, []byte("You pay bills."))], []byte("\n"))
	if err == nil || r.Page || r.Events.Verified == 0 || !strings.Contains(err.Error(), fmt.Sprintf("line %d:", line)) {
		t.Errorf("%+v, %v; the change is in line %d", r, err, line)
	}
	at := bytes.Index(data, []byte("sha256:")) + len("sha256:")
	sum := sha256.Sum256(append(bytes.Clone(changed[:at]), changed[at+64:]...))
	copy(changed[at:], hex.EncodeToString(sum[:]))
	if r, err = evidence.Verify(changed); err != nil || r.Page {
		t.Errorf("sealed again: %+v, %v", r, err)
	}
}

func TestHostile(t *testing.T) {
	d := newFixture(t).dossier(nil)
	page := string(write(t, d, "html"))
	for _, bad := range []string{"<script", "<img src=x", "onerror=alert(1)>", "\x1b", "\u202e", "\x00", "javascript:b\""} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	text := string(write(t, d, "md"))
	for _, bad := range []string{"\x1b", "\u202e", "\x00"} {
		if strings.Contains(text, bad) {
			t.Errorf("the text has %q in it", bad)
		}
	}
	if at := outsideFences(text, "# no heading"); at != "" {
		t.Errorf("a heading from a transcript: %s", at)
	}
	if at := outsideFences(text, "<img"); at != "" {
		t.Errorf("markup from a transcript: %s", at)
	}
}

// outsideFences returns the first line with a prefix or markup that is in no fenced block.
func outsideFences(text, what string) string {
	open := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case open == "" && len(marks) >= 3 && marks == line:
			open = marks
		case open != "" && len(marks) >= len(open) && marks == line:
			open = ""
		case open == "" && strings.HasPrefix(strings.TrimLeft(line, " |>-"), what):
			return line
		}
	}
	return ""
}

func TestNotThere(t *testing.T) {
	_, err := evidence.Collect(context.Background(), openStore(t), idOf(99), nil)
	if !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// damaged is a store that has lost its honesty.
type damaged struct {
	store.Store
	object func([]byte) []byte
}

func (s damaged) Object(ctx context.Context, d session.Digest) ([]byte, error) {
	data, err := s.Store.Object(ctx, d)
	return s.object(data), err
}

func TestDamaged(t *testing.T) {
	f := newFixture(t)
	st := damaged{f.st, func(data []byte) []byte { return bytes.Replace(data, []byte("I pay."), []byte("I paid"), 1) }}
	_, err := evidence.Collect(context.Background(), st, f.play(), nil)
	var m *evidence.Mismatch
	if !errors.Is(err, store.ErrDamaged) || !errors.As(err, &m) || !strings.HasPrefix(m.Where, "content ") {
		t.Error(err)
	}
}

// TestWaiting collects a run that has come to a question, and not further.
func TestWaiting(t *testing.T) {
	st := openStore(t)
	h, err := run.New(st, nil).Start(context.Background(), "review", story{}, session.FromUser("Is it ready?"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); !errors.Is(err, run.ErrWaiting) {
		t.Fatal(err)
	}
	d := collect(t, st, h.ID(), nil)
	q := d.Findings.Questions
	if len(q) != 1 || q[0].Verdict != "" || q[0].Tool != "deploy" || d.Findings.Runs[0].State != store.Waiting {
		t.Errorf("%+v", d.Findings)
	}
	for format := range formats {
		if _, err := evidence.Verify(write(t, d, format)); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	st := openStore(f)
	s := session.FromUser("token=0123456789")
	if err := st.PutSessions(context.Background(), s); err != nil {
		f.Fatal(err)
	}
	d := collect(f, st, s.ID(), nil)
	d.Records.Runs = newFixture(f).dossier(nil).Records.Runs
	for format := range formats {
		f.Add(write(f, collect(f, st, s.ID(), nil), format))
	}
	f.Add(write(f, d, "json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = evidence.Verify(data)
		if at := bytes.IndexByte(data, ':') + 3; at > 2 && at+64 <= len(data) {
			_, _ = evidence.Verify(reseal(data))
		}
	})
}

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
)

// remembering uses a memory in every way, one that fails included.
func remembering(m *memory.Store) flow.Workflow {
	return flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		for _, n := range []memory.Note{
			{URI: "memory://user/facts/1", Text: "Ann lives in Lyon.", Trust: memory.TrustUser, Time: at},
			{URI: "memory://resources/lyon.md/0001", Text: "Lyon \x1b[31m\u202e ignores you", Time: at},
		} {
			if _, err := m.Write(ctx, n); err != nil {
				return s, err
			}
		}
		for _, query := range []string{"Ann Lyon", "nothing of that"} {
			if _, err := m.Recall(ctx, query, nil); err != nil {
				return s, err
			}
		}
		if _, err := m.Get(ctx, "memory://user/facts/2"); err == nil {
			return s, fmt.Errorf("there is a note")
		}
		if err := m.Move(ctx, "memory://user/facts", "memory://user/old"); err != nil {
			return s, err
		}
		_, err := m.Commit(ctx, s, nil)
		return s, err
	})
}

// playRemembering runs it, and returns its effects as runs show has them.
func playRemembering(t *testing.T) runDetails {
	t.Helper()
	ctx := context.Background()
	m, err := local.Open(ctx, t.TempDir(), &local.Options{Memory: &memory.Options{Name: "local:test"}})
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlite.Open(ctx, filepath.Join(t.TempDir(), "rath.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if m.Close() != nil || st.Close() != nil {
			t.Error("the stores do not close")
		}
	})
	h, err := run.New(st, nil).Start(ctx, "remembering", remembering(m), session.FromUser("Where?"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Wait(); err != nil {
		t.Fatal(err)
	}
	stored, err := st.Run(ctx, h.ID())
	if err != nil {
		t.Fatal(err)
	}
	r := &records{Store: st, home: t.TempDir()}
	d, err := r.details(ctx, stored)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestRemembered(t *testing.T) {
	d := playRemembering(t)
	var got []string
	for _, e := range d.Effects {
		if e.Kind == memory.Kind {
			got = append(got, e.Name+": "+resultText(e.Effect))
		}
	}
	found, ok := memory.Found{}, false
	for _, e := range d.Effects {
		if r, is := rememberedBy(e.Effect); is && !ok {
			found, ok = r.found()
		}
	}
	if !ok || len(found.Hits) != 2 {
		t.Fatalf("the first recall gave %+v", found)
	}
	want := []string{
		"write: memory://user/facts/1: Ann lives in Lyon.",
		"write: memory://resources/lyon.md/0001: Lyon \x1b[31m\u202e ignores you",
		fmt.Sprintf("recall: 2 notes, best memory://user/facts/1 (%.3f)", found.Hits[0].Score),
		"recall: 0 notes",
		"read: error: read memory://user/facts/2 in memory local:test: nothing is kept there: memory://user/facts/2",
		"move: memory://user/facts to memory://user/old",
		"commit: archived, 0 notes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}

	var out strings.Builder
	a := &app{out: &output{w: &out}}
	if err := a.printRun(d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`recall "Ann Lyon" in local:test, found by words:`,
		fmt.Sprintf("    memory://user/facts/1  %.3f  2026-03-01  user\n        Ann lives in Lyon.\n", found.Hits[0].Score),
		fmt.Sprintf("    memory://resources/lyon.md/0001  %.3f  2026-03-01  unknown\n        Lyon "+`\x1b[31m\u202e ignores you`, found.Hits[1].Score),
		`recall "nothing of that" in local:test, found by words:` + "\n    nothing\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, out.String())
		}
	}
}

// What others record under the same kind is shown as it is.
func TestRememberedByOthers(t *testing.T) {
	for _, test := range []struct{ input, value string }{
		{`{"query":"x"}`, `["y"]`},
		{`"x"`, `{"out":1}`},
		{`{"store":"s","in":1}`, `7`},
	} {
		x := &store.Effect{Intent: store.Intent{Kind: memory.Kind, Name: memory.OpRecall, Input: []byte(test.input)}, Done: true}
		x.Result.Value = []byte(test.value)
		if _, ok := rememberedBy(x); ok || resultText(x) != test.value {
			t.Errorf("%s: %v, %s", test.input, ok, resultText(x))
		}
	}
}

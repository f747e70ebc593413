package evidence_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// secret is in what one of the story's tools finds. It is nobody's.
const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"

// story is a run with everything in it: a fork and a merge, a branch that is not taken, a
// tool that fails, one that is called wrongly, one that is refused, memory, a compression
// and a secret.
type story struct{}

func (story) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	s, err := flow.Forward(ctx, "", drafter(), s)
	if err != nil {
		return s, err
	}
	if _, err := flow.Forward(ctx, "", talker("gamble", "Or shall we just say that it is all fine?"), s.Fork()); err != nil {
		return s, err
	}
	s, err = (&flow.Parallel{Branches: []flow.Workflow{
		talker("style", "The style is **plain**, as it should be."),
		talker("facts", "Three facts hold: the numbers, the names, `the dates`."),
	}}).Forward(ctx, s)
	if err != nil {
		return s, err
	}
	if s, err = remember(ctx, s); err != nil {
		return s, err
	}
	s = compress(s, flow.RunOf(ctx))
	return flow.Forward(ctx, "", talker("edit", "Release 4.2 is ready: the notes are correct, and nothing was deployed."), s)
}

func drafter() *flow.Agent {
	replies := []scripted.Reply{
		{
			Reasoning: "I need the notes and the list.",
			Text:      "I will look at the notes.",
			Calls: []session.Call{
				{ID: "call_a", Name: "read", Arguments: `{"path":"NOTES.md"}`},
				{ID: "call_b", Name: "fetch", Arguments: `{"url":"https://releases.invalid/4.2"}`},
				{ID: "call_c", Name: "read", Arguments: `{"file":1}`},
			},
			Usage: &session.Usage{Input: 812, Output: 96, CacheRead: 512, Reasoning: 40, Cost: session.Cost{Nano: 2_430_000}},
		},
		{
			Text:  "Now I deploy it.",
			Calls: []session.Call{{ID: "call_d", Name: "deploy", Arguments: `{"version":"4.2"}`}},
			Usage: &session.Usage{Input: 1240, Output: 51, Cost: session.Cost{Nano: 3_120_000}},
		},
		{Text: "The draft is written; it was not deployed.", Usage: &session.Usage{Input: 1391, Output: 30, Cost: session.Cost{Nano: 3_000_000}}},
	}
	temperature := 0.2
	return &flow.Agent{
		Name: "draft", Prompt: "You write release notes.", Tools: toolbox(),
		Params: llm.Params{Temperature: &temperature, MaxTokens: 800},
		Model: scripted.Func(func(req *llm.Request) scripted.Reply {
			said := 0
			for _, c := range req.Messages.All() {
				if c.Kind() == session.KindAssistant {
					said++
				}
			}
			return replies[said]
		}),
	}
}

type pathInput struct {
	Path string `json:"path"`
}

type urlInput struct {
	URL string `json:"url"`
}

type versionInput struct {
	Version string `json:"version"`
}

func toolbox() tool.Set {
	read := tool.New("read", "Read a file.", func(context.Context, pathInput) (string, error) {
		return "# 4.2\n- faster\n- token for the mirror: " + secret + "\n```\n</script><b>bold</b>\n```", nil
	})
	read.Class = effect.ReadOnly
	fetch := tool.New("fetch", "Fetch a page.", func(context.Context, urlInput) (string, error) {
		return "", errors.New("no such host: releases.invalid")
	})
	fetch.Class = effect.Idempotent
	deploy := tool.New("deploy", "Put a version into production.", func(context.Context, versionInput) (string, error) {
		return "deployed", nil
	})
	deploy.Approval = true
	return tool.Set{read, fetch, deploy}
}

// talker is an agent that says one thing.
func talker(name, text string) *flow.Agent {
	return &flow.Agent{Name: name, Prompt: "You are the " + name + " desk.", Model: scripted.Func(func(*llm.Request) scripted.Reply {
		usage := &session.Usage{Input: 700, Output: int64(len(text) / 4)}
		if name == "facts" {
			usage.Cost.Unpriced = 1
		} else {
			usage.Cost.Nano = 1_500_000
		}
		return scripted.Reply{Text: text, Usage: usage}
	})}
}

func remember(ctx context.Context, s session.Session) (session.Session, error) {
	_, err := effect.Do(ctx, effect.Call{Kind: "memory", Name: "recall", Input: map[string]any{"query": "house style"}, Class: effect.ReadOnly},
		func(context.Context) ([]string, error) { return []string{"Write short sentences."}, nil })
	if err == nil {
		_, err = effect.Do(ctx, effect.Call{Kind: "memory", Name: "note", Input: map[string]any{"text": "4.2 was reviewed"}, Class: effect.Idempotent},
			func(context.Context) (bool, error) { return true, nil })
	}
	return s, err
}

// compress keeps the question and the last two chunks.
func compress(s session.Session, runID string) session.Session {
	n := s.Len()
	content := session.Transcript{}.Append(s.At(0), session.System(session.Text("Summary: notes were read, a deployment was refused.")), s.At(n-2), s.At(n-1))
	return s.Derive(content, session.Step{Op: session.OpCompress, Path: "compress", Run: runID})
}

// openStore opens a store that lives as long as the test.
func openStore(t testing.TB) store.Store {
	t.Helper()
	st, err := sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "rath.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st
}

// play runs the story and returns the run's id.
func play(t testing.TB, st store.Store) (id session.ID, out session.Session) {
	t.Helper()
	ctx := context.Background()
	sb, err := local.Open(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close() })
	r := run.New(st, &run.Options{Patience: -1, Decide: func(context.Context, flow.Question) (flow.Decision, error) {
		return flow.Decision{Verdict: flow.Reject, Text: "not on a Friday", By: "kim"}, nil
	}})
	in := session.FromUser("Is release 4.2 ready? Mind </script> and `ticks`.").To(sb)
	h, err := r.Start(ctx, "review", story{}, in, run.WithSpec(json.RawMessage(`{"team":"docs"}`)))
	if err != nil {
		t.Fatal(err)
	}
	if out, err = h.Wait(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.Text(), "Release 4.2 is ready") {
		t.Fatalf("the story ends with %q", out.Text())
	}
	return h.ID(), out
}

package evidence_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
)

// fixture is a run whose ids and times are the same each time. What is in it is as
// unpleasant as it may be.
type fixture struct {
	t     testing.TB
	st    store.Store
	run   store.Run
	head  store.Head
	batch store.Batch
	now   time.Time
}

func idOf(n int) session.ID {
	id, err := session.ParseID(fmt.Sprintf("0198c0de-0000-7000-8000-%012d", n))
	if err != nil {
		panic(err)
	}
	return id
}

const hostile = "</script><img src=x onerror=alert(1)> ````fence```` \x1b[31m\u202egnp.exe\x00 --> &amp; [a](javascript:b) | $x$\n# no heading\n"

func newFixture(t testing.TB) *fixture {
	f := &fixture{t: t, now: time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)}
	clock := func() time.Time { return f.now }
	var err error
	f.st, err = sqlite.Open(context.Background(), filepath.Join(t.TempDir(), "rath.db"), &sqlite.Options{Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.st.Close() })
	return f
}

// event adds an event, a millisecond after the one before, and returns its number.
func (f *fixture) event(kind string, body any) int64 {
	f.t.Helper()
	f.now = f.now.Add(time.Millisecond)
	e, err := f.head.Next(kind, f.now, body)
	if err != nil {
		f.t.Fatal(err)
	}
	f.head = e.Head()
	f.batch.Events = append(f.batch.Events, e)
	return e.Seq
}

func (f *fixture) pack(v any) json.RawMessage {
	f.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		f.t.Fatal(err)
	}
	packed, objects, err := store.Pack(raw)
	if err != nil {
		f.t.Fatal(err)
	}
	f.batch.Objects = append(f.batch.Objects, objects...)
	return packed
}

func (f *fixture) intent(path, kind, name, class string, input any, attempt int) int64 {
	raw, err := json.Marshal(input)
	if err != nil {
		f.t.Fatal(err)
	}
	c := jsontext.Value(raw)
	if err := c.Canonicalize(); err != nil {
		f.t.Fatal(err)
	}
	return f.event(store.EventIntent, store.Intent{
		Path: path, Kind: kind, Name: name, Class: class, Digest: sha256.Sum256(c), Input: f.pack(input), Attempt: attempt,
	})
}

func (f *fixture) result(effect int64, value any) {
	f.event(store.EventResult, store.Result{Effect: effect, Value: f.pack(value), TookUS: 1500})
}

type (
	object = map[string]any
	array  = []any
)

func (f *fixture) model(path string, prompt, messages session.Transcript, reply session.Chunk, usage session.Usage) {
	extent := func(t session.Transcript) object { return object{"len": t.Len(), "digest": t.Digest()} }
	n := f.intent(path, "model", "openai:gpt-test", "read_only", object{
		"prompt": extent(prompt), "messages": extent(messages),
		"tools":  array{object{"name": "transfer", "schema": object{"type": "object"}}},
		"params": object{"temperature": 0.5, "stop": array{hostile}},
	}, 0)
	f.result(n, object{"reply": object{
		"chunk": reply, "stop": "stop", "usage": usage, "id": "resp_1", "model": "gpt-test-2026",
		"attempts": array{object{"number": 1, "error": object{"kind": "rate_limit", "message": "slow down"}, "wait_ns": 20}},
	}})
}

// play keeps the run: a transfer of which nobody saw the end, a question that nobody
// answered, an answer with a password in it.
func (f *fixture) play() session.ID {
	ctx := context.Background()
	f.run = store.Run{
		ID: idOf(1), Name: "pay <b>", Program: "p1", Input: idOf(2), State: store.Running, Created: f.now,
		Lease: store.Lease{Run: idOf(1), Owner: "host:1", Fence: 1, Expires: f.now.Add(time.Hour)},
	}
	run := f.run.ID.String()
	png, secretFile := []byte("\x89PNG\r\n\x1a\n"), []byte("DB_PASSWORD=correct-horse\n")
	in := f.session(2, session.OpLeaf, "", "", nil, session.User(session.Text(hostile), session.Image("image/png", png), session.File("a.env", "text/plain", secretFile)))
	prompt := f.session(3, session.OpLeaf, "", "", nil, session.System(session.Text("You pay bills.")))
	call := session.Call{ID: "c/1", Name: "transfer", Arguments: `{"to":"ACME","password":"hunter2 & co"}`}
	asked := session.Assistant([]session.Part{session.Reasoning("Is it due?", ""), session.Text("I pay.")}, call)
	paid := session.ToolResult(session.Answer{CallID: "c/1", Tool: "transfer", Outcome: session.OK}, session.Text("paid"))
	done := session.Assistant([]session.Part{session.Text("It is paid: " + hostile)})
	draft := in.Transcript().Append(asked, paid)
	out := f.restore(4, session.OpForward, "pay", run, draft.Append(done), []session.Session{in, prompt}, session.Usage{Calls: 2, Unreported: 1, Input: 900, Output: 40, Cost: session.Cost{Nano: 1_000_000, Unpriced: 1}}, session.Extra{Key: "memory.told", Value: "memory://user/memories/facts/0a1b2c3d"})
	lost := f.restore(5, session.OpForward, "other", run, in.Transcript(), []session.Session{in}, session.Usage{}, session.Extra{Key: "loop.error", Value: "call model: " + hostile},
		session.Extra{Key: "openrath.file", Value: `{"lines":{"0":{"unknown":"member of the file","credentials":["one","two"]}}}`})

	f.event(store.EventCreated, store.Created{Run: f.run.ID, Name: f.run.Name, Program: "p1", Spec: json.RawMessage(`{"v":1}`), Input: in.ID(), Digest: in.Digest(), Source: idOf(9)})
	f.wait(f.st.CreateRun(ctx, f.run, f.flush(in, prompt)))
	f.event(store.EventNoted, store.Noted{Intent: store.Intent{Path: "pay", Kind: "session", Class: "read_only"}, Value: f.pack(object{"id": out.ID()})})
	f.recall()
	f.model("pay", prompt.Transcript(), in.Transcript(), asked, session.Usage{Calls: 1, Input: 500, Output: 20, Cost: session.Cost{Nano: 1_000_000}})
	f.ask("pay/transfer:c%2F1", store.Interrupt{Run: f.run.ID, Key: "pay/transfer:c%2F1/c/1", Kind: "approval"}, object{
		"key": "c/1", "kind": "approval", "message": "allow transfer?", "call": object{"id": "c/1", "tool": "transfer", "arguments": call.Arguments},
	}, object{"verdict": "edit", "arguments": `{"to":"ACME","amount":12}`, "by": "lee"})
	call.Arguments = `{"to":"ACME","amount":12}`
	n := f.intent("pay/transfer:c%2F1", "tool", "transfer", "mutating", call, 0)
	f.event(store.EventState, store.StateChange{State: store.NeedsReview, Error: "nobody knows"})
	f.event(store.EventSettled, store.Settled{Effect: n, Verdict: store.VerdictNotDone, By: "ada"})
	f.event(store.EventState, store.StateChange{State: store.Running, Owner: "host:2"})
	f.intent("pay/transfer:c%2F1", "tool", "transfer", "mutating", call, 1)
	f.result(n, object{"chunk": paid})
	f.event(store.EventNoted, store.Noted{Intent: store.Intent{Path: "pay", Kind: "clock", Name: "now", Class: "read_only"}, Value: json.RawMessage(`"2026-03-01T09:30:00Z"`)})
	f.event(store.EventNoted, store.Noted{
		Intent: store.Intent{Path: "pay", Kind: "tool", Name: "refund", Class: "mutating", Input: f.pack(session.Call{ID: "c/0", Name: "refund", Arguments: "{}"})},
		Value:  f.pack(object{"chunk": session.ToolResult(session.Answer{CallID: "c/0", Tool: "refund", Outcome: session.OK}, session.Text("refunded"))}), Settled: true,
	})
	f.memory(run)
	m := f.intent("", "memory", "note", "idempotent", object{"text": "paid ACME"}, 0)
	f.event(store.EventResult, store.Result{Effect: m, Error: "the disk is full", TookUS: 20})
	g := f.intent("other", "model", "openai:gpt-test", "read_only", object{}, 0)
	f.event(store.EventResult, store.Result{Effect: g, Cancelled: true, TookUS: 9})
	f.ask("", store.Interrupt{Run: f.run.ID, Key: "sure", Kind: "review", Expires: f.now.Add(time.Hour)}, object{"key": "sure", "kind": "review", "data": object{"z": 1, "a": hostile}}, nil)
	f.model("pay", prompt.Transcript(), draft, done, session.Usage{Calls: 1, Unreported: 1, Cost: session.Cost{Unpriced: 1}})
	for _, s := range []session.Session{out, lost} {
		f.event(store.EventSession, store.SessionMade{ID: s.ID(), Digest: s.Digest(), Path: s.Lineage().Path})
	}
	end := store.StateChange{State: store.Succeeded, Output: out.ID(), Digest: out.Digest()}
	f.event(store.EventState, end)
	b := f.flush(out, lost)
	b.State = &end
	f.wait(f.st.Append(ctx, f.run.Lease, b))
	return f.run.ID
}

// operation keeps an effect as package memory does.
func (f *fixture) operation(path, name, class string, in, out, failed any) {
	value := object{"out": out}
	if failed != nil {
		value["error"] = failed
	}
	f.result(f.intent(path, "memory", name, class, object{"store": "local:notes", "in": in}, 0), value)
}

// recall keeps what the agent was told before it asked its model: one note of two.
func (f *fixture) recall() {
	f.operation("pay", "recall", "read_only", object{"text": hostile, "limit": 4, "now": f.now}, object{
		"hits": array{
			object{
				"uri": "memory://user/memories/facts/0a1b2c3d", "about": "acme.iban", "trust": "user", "time": f.now.AddDate(0, -1, 0), "importance": 0.75,
				"source": object{"session": idOf(7), "chunk": 3}, "snippet": "ACME's password=swordfish", "whole": true, "score": 0.03252247488101534, "words": 7.25, "meaning": 0.8125,
			},
			object{
				"uri": "memory://resources/bills.md/0001", "title": "<b>Bills</b>", "context": "Bills > ACME", "trust": "resource", "time": f.now, "until": f.now.Add(time.Hour),
				"meta": object{"sha256": "ab", "token": "opensesame"}, "source": object{"origin": "bills.md", "sha256": "ab"}, "snippet": hostile, "score": 0.016393, "words": 3,
			},
		},
		"match": "hybrid", "notice": "2 vectors are still to be made <i>",
	}, nil)
}

// memory keeps one operation of every kind, with what may go wrong.
func (f *fixture) memory(run string) {
	kept := object{"uri": "memory://user/memories/facts/1c2d3e4f", "text": "ACME was paid.\n" + hostile, "trust": "agent", "time": f.now, "replaces": "memory://user/memories/facts/0a1b2c3d"}
	f.operation("pay/transfer:c%2F1/memory", "write", "idempotent", object{"mode": 1, "note": kept}, kept, nil)
	f.operation("pay", "write", "idempotent", object{"mode": 0, "note": object{"uri": "memory://user/x", "text": "lost"}}, object{"uri": "", "text": ""},
		object{"op": "write", "on": "memory://user/x", "store": "local:notes", "text": "the disk is full", "kinds": array{"somebody else has changed it meanwhile"}})
	f.operation("", "recall", "read_only", object{"text": "", "limit": 4}, object{"hits": nil}, nil)
	f.operation("", "read", "read_only", object{"uri": "memory://user", "level": "abstract"}, "- memory://user/memories/\n", nil)
	f.operation("", "read", "read_only", "memory://user/memories/facts/1c2d3e4f", kept, nil)
	f.operation("", "list", "read_only", "memory://user", array{object{"uri": "memory://user/memories", "notes": 2}}, nil)
	f.operation("", "remove", "mutating", object{"uri": "memory://user/y", "recursive": true}, 3, nil)
	f.operation("", "move", "mutating", object{"from": "memory://user/a", "to": "memory://user/b"}, object{}, nil)
	f.operation("", "add", "idempotent", object{"name": "bills.md", "to": "memory://resources/bills.md"}, object{"uri": "memory://resources/bills.md", "files": 1, "notes": 2, "known": 0}, nil)
	f.operation("", "commit", "idempotent", object{"session": idOf(4), "len": 4}, object{"archive": object{"session": idOf(4), "len": 4, "state": "done"}, "notes": array{kept}}, nil)
	f.operation("", "recall", "read_only", object{"text": "odd"}, object{"hits": "many"}, nil)
	f.intent("", "memory", "remove", "mutating", object{"store": "local:notes", "in": object{"uri": "memory://user/" + run}}, 0)
}

func (f *fixture) session(n int, op session.Op, path, run string, parents []session.Session, chunks ...session.Chunk) session.Session {
	return f.restore(n, op, path, run, session.Transcript{}.Append(chunks...), parents, session.Usage{})
}

func (f *fixture) restore(n int, op session.Op, path, run string, content session.Transcript, parents []session.Session, usage session.Usage, extras ...session.Extra) session.Session {
	l := session.Lineage{Op: op, Path: path, Run: run, Time: f.now.Add(time.Duration(n) * time.Millisecond), Extras: extras}
	for i, p := range parents {
		l.Parents = append(l.Parents, session.Parent{ID: p.ID(), Role: []session.Role{session.RoleInput, session.RolePrompt}[i]})
	}
	return session.Restore(session.Record{ID: idOf(n), Content: content, Lineage: l, Usage: usage}, parents...)
}

// ask puts a question, and answers it or lets it expire.
func (f *fixture) ask(path string, i store.Interrupt, request, decision any) {
	ctx := context.Background()
	n := f.intent(path, "interrupt", request.(object)["key"].(string), "read_only", request, 0)
	i.Request, i.Asked = f.pack(request), f.now
	f.event(store.EventAsked, i)
	f.must(f.st.Ask(ctx, i))
	if decision == nil {
		f.result(n, object{"decision": object{"verdict": ""}, "expired": true})
		return
	}
	raw := f.pack(decision)
	f.must(f.st.Decide(ctx, i.Run, i.Key, raw, "lee"))
	f.event("interrupt.decided", object{"key": i.Key, "decision": raw, "by": "lee"})
	f.result(n, object{"decision": decision})
}

func (f *fixture) flush(sessions ...session.Session) store.Batch {
	b := f.batch
	b.Sessions = sessions
	f.batch = store.Batch{}
	return b
}

func (f *fixture) wait(c store.Commit) {
	f.t.Helper()
	f.must(c.Wait(context.Background()))
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) dossier(opts *evidence.Options) *evidence.Dossier {
	f.t.Helper()
	if opts == nil {
		opts = &evidence.Options{}
	}
	opts.Now = func() time.Time { return f.now.Add(time.Hour) }
	d, err := evidence.Collect(context.Background(), f.st, f.play(), opts)
	f.must(err)
	return d
}

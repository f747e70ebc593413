package session

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSnapshot(t *testing.T) {
	call := Assistant(nil, Call{ID: "c", Name: "write"})
	result := ToolResult(Answer{CallID: "c", Tool: "write"}, Text("done"))
	user := FromUser("change it")
	agent := user.Derive(user.Transcript().Append(call, result, Assistant([]Part{Text("changed")})),
		Step{Path: "agent", Extras: []Extra{{"k", "v"}}, Marks: []Mark{{1, "before"}, {3, "after"}}})
	next := agent.Append(User(Text("again")))
	at := func(s Session, n int) Session {
		t.Helper()
		out, err := s.ForkAt(n)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	merged, err := Merge(agent.Fork().Append(User(Text("a"))), agent.Fork().Append(User(Text("b"))))
	if err != nil {
		t.Fatal(err)
	}
	short := agent.Derive(FromUser("in short").Transcript(), Step{Op: OpCompress})
	for _, test := range []struct {
		name string
		s    Session
		want string
	}{
		{"the empty session", Session{}, ""},
		{"before any", user, ""},
		{"at its end", agent, "after"},
		{"of the parent", next, "after"},
		{"of a fork", next.Fork(), "after"},
		{"detached", next.Detach(), "after"},
		{"cut behind the result", at(next, 3), "after"},
		{"cut before the call", at(next, 1), "before"},
		{"cut, and gone on", at(next, 1).Append(User(Text("x"))), "before"},
		{"cut before all", at(next, 0), ""},
		{"compressed", short, "after"},
		{"merged without its own", merged, ""},
		{"merged with its own", merged.WithMark("joined"), "joined"},
		{"merged, cut in what is common", at(merged, 4), "after"},
		{"merged, cut before the call", at(merged, 1), "before"},
		{"merged with its own, cut in what is common", at(merged.WithMark("joined"), 1), "before"},
		{"detached, cut before the call", at(next.Detach(), 1), "before"},
		{"compressed to its beginning", agent.Derive(user.Transcript(), Step{Op: OpCompress}), "after"},
		{"rewritten", agent.Derive(FromUser("in short").Transcript(), Step{}), "after"},
		{"from a record", Restore(agent.Record()), "after"},
	} {
		if got, ok := test.s.Snapshot(); string(got) != test.want || ok != (test.want != "") {
			t.Errorf("%s: %q, %v, want %q", test.name, got, ok, test.want)
		}
	}
	if diff := cmp.Diff([]Mark{{1, "before"}, {3, "after"}}, agent.Lineage().Marks()); diff != "" {
		t.Error(diff)
	}
	if merged.ID() != merged.WithMark("joined").ID() || len(merged.Lineage().Extras) != 0 {
		t.Error("a handle with a mark is the same session, and changes none")
	}
	if len((Lineage{Extras: []Extra{{MarkKey, ""}, {MarkKey, "x y"}, {"k", "1 x"}}}).Marks()) != 0 {
		t.Error("what is no mark was taken for one")
	}
}

package cli

import (
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/tool"
)

// event is a line of NDJSON. Type says which of the members are there.
type event struct {
	Type string `json:"type"` // begin, delta, reply, call, result, end
	flow.At
	Parents []session.Parent `json:"parents,omitempty"`
	Delta   *llm.Delta       `json:"delta,omitempty"`
	Chunk   *session.Chunk   `json:"chunk,omitempty"`
	Usage   *session.Usage   `json:"usage,omitempty"`
	Stop    llm.Stop         `json:"stop,omitempty"`
	Call    *callJSON        `json:"call,omitempty"`
	TookMS  int64            `json:"took_ms,omitempty"`
	Change  *tool.Change     `json:"workspace,omitempty"` // what the files were before and after the call
	Extras  []session.Extra  `json:"extras,omitempty"`    // of the session's lineage
	Error   *problem         `json:"error,omitempty"`
}

type callJSON struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// jsonEvent is the line for an event, nil for one that has none.
func jsonEvent(e flow.Event) any {
	at := e.Where()
	switch e := e.(type) {
	case flow.Begin:
		return event{Type: "begin", At: at, Parents: e.Draft.Lineage().Parents}
	case flow.Delta:
		return event{Type: "delta", At: at, Delta: &e.Delta}
	case flow.Reply:
		return event{Type: "reply", At: at, Chunk: &e.Chunk, Usage: &e.Usage, Stop: e.Stop}
	case flow.Call:
		return event{Type: "call", At: at, Call: &callJSON{e.Call.ID, e.Call.Name, e.Call.Arguments}}
	case flow.Result:
		out := event{Type: "result", At: at, Chunk: &e.Chunk, TookMS: e.Took.Milliseconds()}
		if e.Change != (tool.Change{}) {
			out.Change = &e.Change
		}
		return out
	case flow.Told:
		return memoryEvent{Type: "told", At: at, Hits: e.Hits, Notice: e.Notice}
	case flow.Committed:
		return memoryEvent{Type: "committed", At: at, Committed: &e.Committed}
	case flow.End:
		return event{Type: "end", At: at, Extras: e.Session.Lineage().Extras, Error: problemOf(e.Err)}
	}
	return nil
}

// runBegun is the first line of a run's NDJSON.
type runBegun struct {
	Type string     `json:"type"` // "run"
	Run  session.ID `json:"run"`
}

// result is the last line of a run's NDJSON.
type result struct {
	Type    string         `json:"type"` // "result"
	OK      bool           `json:"ok"`
	Text    string         `json:"text"`
	Run     session.ID     `json:"run"`
	State   store.State    `json:"state"`
	Session session.ID     `json:"session,omitzero"` // once the run has ended
	Digest  session.Digest `json:"digest,omitzero"`
	Usage   session.Usage  `json:"usage"`
	TookMS  int64          `json:"took_ms"`
	Error   *problem       `json:"error,omitempty"`

	Questions []store.Interrupt `json:"questions,omitempty"` // that it waits for
}

func (v *view) result(e ending) result {
	r := result{
		Type: "result", OK: e.err == nil, Run: v.run, State: e.state,
		Usage: v.used, TookMS: e.took.Milliseconds(), Error: problemOf(e.err), Questions: e.asks,
	}
	if e.state.Ended() {
		r.Session, r.Digest = e.out.ID(), e.out.Digest()
	}
	if v.answered {
		r.Text = e.out.Text()
	}
	return r
}

// sessionJSON is a session as show writes it.
type sessionJSON struct {
	ID        session.ID      `json:"id"`
	Digest    session.Digest  `json:"digest"`
	Lineage   session.Lineage `json:"lineage"`
	Usage     session.Usage   `json:"usage"`
	Total     session.Usage   `json:"total"`
	Placement *placementJSON  `json:"placement,omitempty"`
	Partial   bool            `json:"partial"`
	Chunks    []session.Chunk `json:"chunks"`

	Snapshot sandbox.SnapshotID `json:"snapshot,omitempty"` // of the workspace, after these chunks
	Files    []callFiles        `json:"files,omitempty"`    // what calls changed
}

type placementJSON struct {
	Backend    string `json:"backend"`
	Level      string `json:"level,omitempty"`
	ID         string `json:"id"`
	WorkingDir string `json:"working_dir,omitempty"`
}

func placementOf(p sandbox.Placement) *placementJSON {
	if p.Backend == "" {
		return nil
	}
	return &placementJSON{p.Backend, p.Level, p.ID, p.Spec.WorkingDir}
}

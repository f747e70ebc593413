package evidence

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// place names the calls that one workflow made with one id. Servers use ids again.
type place struct {
	run      session.ID
	path, id string
}

// The kinds of failure that models are told of and that tell how far a call came.
const (
	failureArguments = "invalid_tool_arguments"
	failureUnknown   = "unknown_tool"
)

// What is recorded of a tool call and of an approval.
type (
	recordedResult struct {
		Chunk session.Chunk `json:"chunk"`
		Fatal string        `json:"fatal"`
	}
	recordedApproval struct {
		Allow     bool   `json:"allow"`
		Reason    string `json:"reason"`
		Arguments string `json:"arguments"`
	}
)

// calls lists the calls that are in transcripts, with the effects that they were, and
// then the effects that are in none.
func (d *deriver) calls() {
	tools, approvals := d.byPlace(kindTool), d.byPlace(kindApproval)
	for _, s := range d.out.Sessions {
		for _, i := range d.own[s.ID] {
			for call := range d.chunks[d.rows[s.ID][i].Chunk].Calls() {
				d.out.Tools = append(d.out.Tools, d.call(s.ID, i, call, tools, approvals))
			}
		}
	}
	for _, r := range d.Runs {
		for _, e := range d.effects[r.ID] {
			if p, call := d.placeOfCall(r.ID, e); e.Kind == kindTool && slices.Contains(tools[p], e) {
				c := ToolCall{Tool: e.Name, CallID: call.ID, Arguments: call.Arguments, Outcome: session.Interrupted}
				d.performed(&c, r.ID, e)
				d.out.Tools = append(d.out.Tools, c)
			}
		}
	}
}

// byPlace sorts the effects of calls, in the order in which they began.
func (d *deriver) byPlace(kind string) map[place][]*store.Effect {
	all := map[place][]*store.Effect{}
	for _, r := range d.Runs {
		for _, e := range d.effects[r.ID] {
			if e.Kind == kind {
				p, _ := d.placeOfCall(r.ID, e)
				all[p] = append(all[p], e)
			}
		}
	}
	return all
}

func (d *deriver) placeOfCall(run session.ID, e *store.Effect) (place, session.Call) {
	var call session.Call
	d.read(e.Input, &call)
	return place{run, callerOf(e.Path, call.Name, call.ID), call.ID}, call
}

// callerOf returns the path of the workflow that made a call: each call has a scope of its
// own below it, of the tool's name and the call's id.
func callerOf(path, tool, id string) string {
	own := strings.NewReplacer("%", "%25", "/", "%2F").Replace(tool + ":" + id)
	if path == own {
		return ""
	}
	return strings.TrimSuffix(path, "/"+own)
}

// call describes the call in a place of a transcript.
func (d *deriver) call(s session.ID, at int, call session.Call, tools, approvals map[place][]*store.Effect) ToolCall {
	h := d.head(s)
	run, _ := session.ParseID(h.Lineage.Run) // if it is none, there are no events either
	c := ToolCall{
		Span: Span{Run: run, Path: h.Lineage.Path}, Tool: call.Name, CallID: call.ID, Arguments: call.Arguments,
		Session: s, Asked: d.rows[s][at].Chunk, Place: placeOf(h), Check: CheckUnknown, Outcome: session.Interrupted,
	}
	result := d.answered(&c, at)
	p := place{run, h.Lineage.Path, call.ID}
	d.approved(&c, take(approvals, p, nil))
	e := take(tools, p, func(e *store.Effect) bool {
		var r recordedResult
		return d.read(e.Result.Value, &r) && r.Chunk.Equal(result)
	})
	if e != nil && c.Ran() {
		d.performed(&c, run, e)
	}
	return c
}

// Ran reports whether the call came as far as its tool, as its result has it.
func (c ToolCall) Ran() bool {
	return c.Outcome != session.Denied && c.Failure != failureArguments && c.Failure != failureUnknown
}

// take removes the first effect of a place that fits best, else the first one.
func take(all map[place][]*store.Effect, p place, fits func(*store.Effect) bool) *store.Effect {
	list := all[p]
	if len(list) == 0 {
		return nil
	}
	i := 0
	if fits != nil {
		i = max(0, slices.IndexFunc(list, fits))
	}
	e := list[i]
	all[p] = slices.Delete(slices.Clone(list), i, i+1)
	return e
}

// answered finds a call's result in the transcript.
func (d *deriver) answered(c *ToolCall, at int) session.Chunk {
	for _, l := range d.rows[c.Session][at+1:] {
		chunk := d.chunks[l.Chunk]
		if chunk.Kind() != session.KindToolResult || chunk.Answer().CallID != c.CallID {
			continue
		}
		c.Result, c.Outcome = l.Chunk, chunk.Answer().Outcome
		var f struct {
			Kind string `json:"error_kind"`
		}
		if c.Outcome != session.OK && json.Unmarshal([]byte(chunk.Text()), &f) == nil {
			c.Failure = f.Kind
		}
		switch {
		case c.Failure == failureArguments:
			c.Check = CheckFailed
		case c.Failure == failureUnknown:
			c.Check = CheckNoTool
		case c.Outcome == session.Denied:
			c.Check = CheckPassed // nobody is asked before
		}
		return chunk
	}
	return session.Chunk{}
}

// approved notes what the approver said.
func (d *deriver) approved(c *ToolCall, e *store.Effect) {
	c.Question = d.asked[place{c.Run, c.Path, c.CallID}]
	if e == nil {
		return
	}
	if c.Check == CheckUnknown {
		c.Check = CheckPassed
	}
	var r recordedApproval
	if e.Done && d.read(e.Result.Value, &r) {
		c.Approved, c.Edited = &r.Allow, r.Arguments
	}
}

// performed notes what the effect of a call tells.
func (d *deriver) performed(c *ToolCall, run session.ID, e *store.Effect) {
	c.Span, c.Class, c.Check = spanOf(run, e), e.Class, CheckPassed
	c.Path = callerOf(e.Path, c.Tool, c.CallID)
	var r recordedResult
	if d.read(e.Result.Value, &r) {
		c.Fatal = r.Fatal
		if c.Session.IsZero() && r.Chunk.Kind() == session.KindToolResult {
			c.Outcome = r.Chunk.Answer().Outcome
		}
	}
	var call session.Call
	if d.read(e.Input, &call) && c.Edited == "" && call.Arguments != c.Arguments && strings.TrimSpace(c.Arguments) != "" {
		c.Edited = call.Arguments
	}
}

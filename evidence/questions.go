package evidence

import (
	"encoding/json"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// What is recorded of a question: its request and its decision.
type (
	recordedQuestion struct {
		Key     string `json:"key"`
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Call    struct {
			ID        string `json:"id"`
			Tool      string `json:"tool"`
			Arguments string `json:"arguments"`
		} `json:"call"`
		Data json.RawMessage `json:"data"`
	}
	recordedDecision struct {
		Verdict   string `json:"verdict"`
		Arguments string `json:"arguments"`
		Text      string `json:"text"`
		By        string `json:"by"`
	}
	recordedInterrupt struct {
		Decision recordedDecision `json:"decision"`
		Expired  bool             `json:"expired"`
	}
)

// questions lists what was asked of people, and then what was asked of the program's
// approver alone.
func (d *deriver) questions(r *RunRecord) {
	effects := d.interruptEffects(r.ID)
	for _, i := range r.Interrupts {
		q := d.question(r.ID, i, effects[i.Key])
		if q.CallID != "" {
			d.asked[place{q.Run, q.Path, q.CallID}] = q.Key
		}
		d.out.Questions = append(d.out.Questions, q)
	}
	for _, e := range d.effects[r.ID] {
		if e.Kind != kindApproval {
			continue
		}
		if p, call := d.placeOfCall(r.ID, e); d.asked[p] == "" {
			d.out.Questions = append(d.out.Questions, d.approval(r.ID, e, call))
		}
	}
}

// interruptEffects returns the effects of a run that are questions by the keys of these:
// the place, the key, and which time it is that the place asks so, if not the first.
func (d *deriver) interruptEffects(run session.ID) map[string]*store.Effect {
	effects, rounds := map[string]*store.Effect{}, map[string]int{}
	for _, e := range d.effects[run] {
		if e.Kind != kindInterrupt {
			continue
		}
		var q recordedQuestion
		d.read(e.Input, &q)
		name := e.Name
		if name == "" {
			name = q.Kind
		}
		key := name
		if e.Path != "" {
			key = e.Path + "/" + name
		}
		rounds[key]++
		if n := rounds[key]; n > 1 {
			key = fmt.Sprintf("%s#%d", key, n)
		}
		effects[key] = e
	}
	return effects
}

func (d *deriver) question(run session.ID, i store.Interrupt, e *store.Effect) Question {
	q := Question{Run: run, Key: i.Key, Kind: i.Kind, Asked: i.Asked, Expires: i.Expires, Decided: i.Decided, By: i.By}
	var r recordedQuestion
	if json.Unmarshal(i.Request, &r) == nil {
		q.Message, q.Data = r.Message, r.Data
		q.Tool, q.CallID, q.Arguments = r.Call.Tool, r.Call.ID, r.Call.Arguments
	}
	var got recordedInterrupt
	if e != nil {
		q.Effect, q.Path = e.ID, callerOf(e.Path, q.Tool, q.CallID)
		if e.Done && d.read(e.Result.Value, &got) && got.Expired {
			q.Verdict = "expired"
		}
	}
	if len(i.Decision) > 0 && json.Unmarshal(i.Decision, &got.Decision) == nil {
		q.Verdict, q.Text, q.Edited = got.Decision.Verdict, got.Decision.Text, got.Decision.Arguments
		if q.By == "" {
			q.By = got.Decision.By
		}
	}
	return q
}

// approval describes a question that the program's approver answered.
func (d *deriver) approval(run session.ID, e *store.Effect, call session.Call) Question {
	q := Question{
		Run: run, Effect: e.ID, Path: callerOf(e.Path, call.Name, call.ID), Kind: kindApproval, Tool: e.Name, CallID: call.ID,
		Arguments: call.Arguments, Asked: e.Begun,
	}
	var r recordedApproval
	if !e.Done || !d.read(e.Result.Value, &r) {
		return q
	}
	q.Decided, q.Text, q.Edited = e.Ended, r.Reason, r.Arguments
	switch {
	case !r.Allow:
		q.Verdict = "reject"
	case r.Arguments != "":
		q.Verdict = "edit"
	default:
		q.Verdict = "approve"
	}
	return q
}

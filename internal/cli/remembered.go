package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/store"
)

// remembered is an operation on a memory, as its effect has it.
type remembered struct {
	op   string
	name string // of the store
	on   string
	out  json.RawMessage
	err  *memory.Error
}

// rememberedBy reads the operation of an effect. It reports false of what is none of package
// memory's, and of what nobody knows the end of.
func rememberedBy(x *store.Effect) (r remembered, ok bool) {
	var in struct {
		Store string          `json:"store"`
		In    json.RawMessage `json:"in"`
	}
	var value struct {
		Out   json.RawMessage `json:"out"`
		Error *memory.Error   `json:"error"`
	}
	if x.Kind != memory.Kind || !x.Done || x.Result.Error != "" ||
		json.Unmarshal(x.Input, &in) != nil || in.Store == "" || json.Unmarshal(x.Result.Value, &value) != nil {
		return r, false
	}
	return remembered{op: x.Name, name: in.Store, on: onWhat(in.In), out: value.Out, err: value.Error}, true
}

// onWhat is the query, the URI or the name that an operation was asked for.
func onWhat(input json.RawMessage) (on string) {
	if json.Unmarshal(input, &on) == nil {
		return on
	}
	var in struct {
		Text, URI, From, To, Name, Session string
		Note                               memory.Note
	}
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, on = range []string{in.Text, in.URI, in.From, in.Name, string(in.Note.URI), in.Session} {
		if on != "" && in.To != "" {
			return on + " to " + in.To
		} else if on != "" {
			return on
		}
	}
	return ""
}

// found returns what a recall gave.
func (r remembered) found() (f memory.Found, ok bool) {
	return f, r.op == memory.OpRecall && r.err == nil && json.Unmarshal(r.out, &f) == nil
}

// gist is what an operation gave, in a few words.
func (r remembered) gist() string {
	if r.err != nil {
		return "error: " + r.err.Error()
	}
	if f, ok := r.found(); ok {
		best := ""
		if len(f.Hits) > 0 {
			best = fmt.Sprintf(", best %s (%.3f)", f.Hits[0].URI, f.Hits[0].Score)
		}
		return plural(len(f.Hits), "note") + best
	}
	var n memory.Note
	var c memory.Committed
	var text string
	switch {
	case r.op == memory.OpRead && json.Unmarshal(r.out, &text) == nil:
		return text
	case (r.op == memory.OpWrite || r.op == memory.OpRead) && json.Unmarshal(r.out, &n) == nil:
		return string(n.URI) + ": " + n.Text
	case r.op == memory.OpCommit && json.Unmarshal(r.out, &c) == nil:
		return fmt.Sprintf("%s, %s", c.Archive.State, plural(len(c.Notes), "note"))
	}
	return strings.TrimSpace(r.on + " " + strings.TrimPrefix(string(r.out), "{}"))
}

// printRecalled writes every note that a recall gave, with its score and who said it.
func printRecalled(line func(string, ...any), id int64, r remembered) {
	f, ok := r.found()
	if !ok {
		return
	}
	how := ""
	if f.Match != "" {
		how = ", found by " + f.Match
	}
	line("\neffect %d, recall %q in %s%s:", id, oneLine(r.on, 200), r.name, how)
	if len(f.Hits) == 0 {
		line("    nothing")
	}
	for _, h := range f.Hits {
		line("    %s  %.3f  %s  %s", h.URI, h.Score, when(h.Time, time.DateOnly), saidBy(h.Trust))
		line("        %s", oneLine(h.Snippet, 300))
	}
	if f.Notice != "" {
		line("    notice: %s", oneLine(f.Notice, 300))
	}
}

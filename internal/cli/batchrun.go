package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// batch is the workflow of rath batch. Its input has the items, one in a message.
type batch struct {
	Items flow.Map

	records *records // where the sessions are that items continue
	results io.Writer
	done    int
	failed  int
	first   error // of the items that failed
	spent   error // the first that says that the budget of all is spent
	cannot  error // read an item, or write a result: no item's own error

	mu    sync.Mutex
	uses  map[string]spending // by the scopes of the items under way
	total session.Usage
}

// spending is what an item has used, and the session that it was seen to make last.
type spending struct {
	usage session.Usage
	made  session.ID
}

// batchResult is a line of the results.
type batchResult struct {
	ID      string          `json:"id"`
	Line    int             `json:"line"`
	Status  string          `json:"status"`
	Text    string          `json:"text"`
	Session session.ID      `json:"session,omitzero"`
	Usage   session.Usage   `json:"usage"`
	Error   *problem        `json:"error,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

const (
	statusDone   = "done"
	statusFailed = "failed"
)

// batchError says that items have failed.
type batchError struct {
	failed, total int
	first, spent  error
}

func (e *batchError) Error() string {
	return fmt.Sprintf("%d of %d lines failed, the first is %v", e.failed, e.total, e.first)
}

// Unwrap returns the first failure if there is nothing else, and that the budget of all is
// spent if it is: the exit code is its.
func (e *batchError) Unwrap() error {
	if e.spent != nil {
		return e.spent
	}
	if e.failed == e.total {
		return e.first
	}
	return nil
}

// Hint says what to do about it.
func (e *batchError) Hint() string {
	if e.spent != nil {
		return "the budget is that of all lines: begin another batch with more, and give these results to --skip"
	}
	if hint := hintOf(e.first); hint != "" {
		return hint
	}
	return "the results have the errors; --skip with their file does again what failed"
}

// Forward works on the items and writes their results. It ends before where the run does:
// items that were cut off have no result.
func (b *batch) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	b.uses = map[string]spending{}
	items := b.Items
	if c, ok := items.Workflow.(connectable); ok { // once, for all items
		var err error
		if items.Workflow, err = c.Connected(ctx); err != nil {
			return s, err
		}
	}
	i := 0
	for out, err := range items.Run(flow.Observe(ctx, b.observe), b.inputs(ctx, s)) {
		if err != nil && (ctx.Err() != nil || endsRun(err)) {
			return s, err
		}
		if err := b.write(s.At(i), i, out, err); err != nil {
			return s, err
		}
		i++
	}
	switch {
	case b.cannot != nil:
		return s, b.cannot
	case i < s.Len():
		return s, ctx.Err()
	case b.failed > 0:
		return s, &batchError{b.failed, s.Len(), b.first, b.spent}
	}
	return s, nil
}

// endsRun reports whether an error is that of the run and not of an item.
func endsRun(err error) bool {
	var damaged *sqlite.Error
	return errors.As(err, new(*run.Divergence)) || errors.Is(err, run.ErrRecordEnds) || errors.Is(err, run.ErrOver) ||
		errors.Is(err, store.ErrFenced) || errors.Is(err, store.ErrDamaged) || errors.As(err, &damaged)
}

// inputs are the sessions that the items begin with. Their names are minted in the order of
// the items, so that a run which goes on gives them the same.
func (b *batch) inputs(ctx context.Context, s session.Session) iter.Seq[session.Session] {
	blank := session.Restore(session.Record{Placement: s.Placement()})
	if sb := s.Sandbox(); sb != nil {
		blank = blank.To(sb)
	}
	return func(yield func(session.Session) bool) {
		for _, c := range s.All() {
			step := session.Step{Run: flow.RunOf(ctx)}
			step.ID, step.Time = s.Reserve()
			in, err := b.input(ctx, blank, c, step)
			if err != nil {
				b.cannot = err
				return
			}
			if !yield(in) {
				return
			}
		}
	}
}

// input is the session that an item begins with: of its own, or what it continues.
func (b *batch) input(ctx context.Context, blank session.Session, c session.Chunk, step session.Step) (session.Session, error) {
	item, err := itemOf(c)
	if err != nil {
		return blank, err
	}
	var content session.Transcript
	step.Op = session.OpLeaf
	if item.Session != "" {
		before, err := b.records.session(ctx, item.Session)
		if err != nil {
			return blank, fmt.Errorf("line %d: %w", item.Line, err)
		}
		step.Op, content = session.OpAppend, before.Transcript().First(item.Len)
		step.Parents = []session.Link{{Session: before.Session, Role: session.RoleInput}}
		for _, call := range content.OpenCalls() {
			content = content.Append(tool.Interrupted(call))
		}
	}
	if item.Prompt != "" {
		content = content.Append(session.User(session.Text(item.Prompt)))
	}
	return blank.Derive(content, step), nil
}

func itemOf(c session.Chunk) (item batchItem, err error) {
	if err = json.Unmarshal([]byte(c.Text()), &item); err != nil {
		err = fmt.Errorf("read a line from the record of the batch: %w", err)
	}
	return item, err
}

// observe counts what each item uses.
func (b *batch) observe(e flow.Event) {
	end, ok := e.(flow.End)
	if !ok {
		return
	}
	scope, _, _ := strings.Cut(end.Path, "/")
	b.mu.Lock()
	defer b.mu.Unlock()
	b.uses[scope] = spending{b.uses[scope].usage.Add(end.Session.Usage()), end.Session.ID()}
	b.total = b.total.Add(end.Session.Usage())
}

// take gives what an item has used, and forgets it.
func (b *batch) take(i int) spending {
	b.mu.Lock()
	defer b.mu.Unlock()
	scope := fmt.Sprint(i)
	defer delete(b.uses, scope)
	return b.uses[scope]
}

// used is what all items have used so far.
func (b *batch) used() session.Usage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// write writes the result of an item.
func (b *batch) write(c session.Chunk, i int, out session.Session, err error) error {
	item, itemErr := itemOf(c)
	if itemErr != nil {
		return itemErr
	}
	spent := b.take(i)
	result := batchResult{ID: item.ID, Line: item.Line, Status: statusDone, Text: out.Text(), Session: spent.made, Usage: spent.usage, Meta: item.Meta}
	if err != nil {
		result.Status, result.Text, result.Error = statusFailed, "", problemOf(err)
	}
	b.count(item, err)
	enc := json.NewEncoder(b.results)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		b.cannot = fmt.Errorf("write the result of line %d: %w", item.Line, err)
		return b.cannot
	}
	return nil
}

func (b *batch) count(item batchItem, err error) {
	if err == nil {
		b.done++
		return
	}
	var over *flow.BudgetError
	if errors.As(err, &over) && over.Name == "" && b.spent == nil { // those of a file have names
		b.spent = err
	}
	if b.failed++; b.first == nil {
		b.first = fmt.Errorf("%q (line %d): %w", item.ID, item.Line, err)
	}
}

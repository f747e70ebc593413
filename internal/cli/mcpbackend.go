package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/openrath-go/rath/internal/mcpserver"
	"github.com/openrath-go/rath/memory"
)

// backend answers an MCP server's clients with what the commands write with --json.
type backend struct {
	app   *app
	flags serveFlags
	turn  chan struct{}   // holds a token for each run
	life  context.Context // ends the runs
}

// maxServedRuns is how many runs go on at a time.
const maxServedRuns = 4

// quiet makes a command that nobody sees, with its lines of JSON going to w.
func (b *backend) quiet(w io.Writer) *app {
	return &app{in: strings.NewReader(""), out: &output{w: w}, err: io.Discard, env: b.app.env, asJSON: true, color: "never"}
}

// answer is what a command writes.
func (b *backend) answer(do func(a *app) error) (json.RawMessage, error) {
	var out bytes.Buffer
	a := b.quiet(&out)
	if err := a.out.lostWith(do(a)); err != nil {
		return nil, explained(err)
	}
	return json.RawMessage(bytes.TrimSpace(out.Bytes())), nil
}

// explained is an error with its hint, which a client cannot ask for.
func explained(err error) error {
	if h := hintOf(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}

// lines makes a list of lines of JSON.
func lines(out json.RawMessage, err error) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	all := []json.RawMessage{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var line json.RawMessage
		if err := dec.Decode(&line); errors.Is(err, io.EOF) {
			return json.Marshal(all)
		} else if err != nil {
			return nil, err
		}
		all = append(all, line)
	}
}

// records answers with what a command does with the records.
func (b *backend) records(ctx context.Context, how access, do func(a *app, r *records) error) (json.RawMessage, error) {
	return b.answer(func(a *app) error {
		return a.useRecords(ctx, how, func(r *records) error { return do(a, r) })
	})
}

// maxListed is how many sessions a client gets at most.
const maxListed = 1000

func (b *backend) Sessions(ctx context.Context, in mcpserver.Listing) (json.RawMessage, error) {
	limit := min(cmp.Or(max(in.Limit, 0), 20), maxListed)
	return lines(b.records(ctx, reading, func(a *app, r *records) error { return a.ls(ctx, r, in.All, limit) }))
}

func (b *backend) Session(ctx context.Context, in mcpserver.Naming) (json.RawMessage, error) {
	return b.records(ctx, reading, func(a *app, r *records) error {
		s, err := r.session(ctx, in.ID)
		if err != nil {
			return err
		}
		return a.show(ctx, r, s)
	})
}

func (b *backend) Diff(ctx context.Context, in mcpserver.Comparing) (json.RawMessage, error) {
	return b.records(ctx, reading, func(a *app, r *records) error { return a.diff(ctx, r, []string{in.A, in.B}, false) })
}

func (b *backend) Replay(ctx context.Context, in mcpserver.Naming) (json.RawMessage, error) {
	return b.records(ctx, reading, func(a *app, r *records) error { return a.replay(ctx, r, in.ID, overrides{}) })
}

func (b *backend) Fork(ctx context.Context, in mcpserver.Naming) (json.RawMessage, error) {
	return b.records(ctx, adding, func(a *app, r *records) error {
		s, err := r.session(ctx, in.ID)
		if err != nil {
			return err
		}
		branch, err := s.branch()
		if err != nil {
			return err
		}
		if err := r.PutSessions(ctx, branch); err != nil {
			return err
		}
		return a.writeJSON(branch.Head())
	})
}

// notes answers with what a command does with the memory.
func (b *backend) notes(ctx context.Context, how access, do func(m *memoryCommands, s *memory.Store) error) (json.RawMessage, error) {
	return b.answer(func(a *app) error {
		m := &memoryCommands{app: a, url: b.flags.memory}
		return m.use(ctx, how, func(s *memory.Store) error { return do(m, s) })
	})
}

func (b *backend) Recall(ctx context.Context, in mcpserver.Query) (json.RawMessage, error) {
	o, err := recollection{limit: cmp.Or(in.Limit, memory.DefaultLimit), under: in.Under}.options()
	if err != nil {
		return nil, err
	}
	return b.notes(ctx, reading, func(m *memoryCommands, s *memory.Store) error { return m.recall(ctx, s, in.Query, o) })
}

func (b *backend) Notes(ctx context.Context, in mcpserver.Folder) (json.RawMessage, error) {
	folder := memory.URI(cmp.Or(in.URI, string(memory.Root)))
	return lines(b.notes(ctx, reading, func(m *memoryCommands, s *memory.Store) error { return m.tree(ctx, s, folder, 0) }))
}

func (b *backend) Note(ctx context.Context, in mcpserver.Noting) (json.RawMessage, error) {
	return b.notes(ctx, reading, func(m *memoryCommands, s *memory.Store) error { return m.show(ctx, s, memory.URI(in.URI), "") })
}

func (b *backend) Remember(ctx context.Context, in mcpserver.Remembering) (json.RawMessage, error) {
	text := strings.TrimSpace(in.Text)
	if text == "" {
		return nil, errors.New("the note is empty")
	}
	o := memory.RememberOptions{Scope: "user", Category: cmp.Or(in.Category, "preferences"), About: in.About, Trust: memory.TrustAgent}
	o.Source.Origin = "mcp"
	return b.notes(ctx, adding, func(m *memoryCommands, s *memory.Store) error { return m.remember(ctx, s, text, o) })
}

// Run runs the agent as the flags allow.
func (b *backend) Run(ctx context.Context, in mcpserver.Running, progress func(string)) (json.RawMessage, error) {
	f := b.flags.run
	if err := b.limit(&f, in); err != nil {
		return nil, err
	}
	return b.drive(ctx, progress, func(ctx context.Context, a *app) error { return a.runAgent(ctx, f, []string{in.Prompt}) })
}

// RunFlow runs a workflow as rath run -f does.
func (b *backend) RunFlow(ctx context.Context, name string, in mcpserver.Flowing, progress func(string)) (json.RawMessage, error) {
	if in.Prompt == "-" { // stdin is the client's
		return nil, errEmptyPrompt
	}
	return b.drive(ctx, progress, func(ctx context.Context, a *app) error { return b.flags.runFlow(ctx, a, name, in) })
}

// drive has a run driven when it is its turn, and returns its result.
func (b *backend) drive(ctx context.Context, progress func(string), do func(context.Context, *app) error) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := &runOutput{progress: progress}
	a := b.quiet(out)
	err := a.out.lostWith(do(ctx, a))
	if err != nil {
		err = explained(err)
	}
	return out.result(), err
}

// settle waits until no run is driven any more, and lets none begin.
func (b *backend) settle(ctx context.Context) {
	for range cap(b.turn) {
		select {
		case b.turn <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

var errEmptyPrompt = errors.New("the prompt is empty")

// limit sets what a client asks for, if the flags allow it.
func (b *backend) limit(f *runFlags, in mcpserver.Running) error {
	f.session = in.Session
	if in.Prompt == "-" { // stdin is the client's
		return errEmptyPrompt
	}
	if in.Model != "" && in.Model != f.model {
		if !slices.Contains(b.flags.models, in.Model) {
			return fmt.Errorf("the model %q is not allowed: leave it out, or name one of %q", in.Model, b.flags.models)
		}
		f.model, f.baseURL = in.Model, ""
	}
	if in.Tools == nil {
		return nil
	}
	allowed, err := toolNames(f.tools)
	if err != nil {
		return err
	}
	for _, name := range in.Tools {
		if !slices.Contains(allowed, name) {
			return fmt.Errorf("the tool %q is not allowed: the tools are %s", name, strings.Join(allowed, ", "))
		}
	}
	f.tools = cmp.Or(strings.Join(in.Tools, ","), "none")
	return nil
}

// runOutput takes the lines of a run: the last is its result, the others are progress.
type runOutput struct {
	progress func(string)

	mu   sync.Mutex
	last json.RawMessage
}

// Write takes a line.
func (o *runOutput) Write(p []byte) (int, error) {
	var line struct {
		Type string    `json:"type"`
		Call *callJSON `json:"call"`
	}
	if json.Unmarshal(p, &line) == nil {
		switch {
		case line.Type == "result":
			o.mu.Lock()
			o.last = bytes.Clone(bytes.TrimSpace(p))
			o.mu.Unlock()
		case line.Type == "call" && line.Call != nil:
			o.progress("calls " + line.Call.Name)
		case line.Type == "reply":
			o.progress("the model has replied")
		}
	}
	return len(p), nil
}

func (o *runOutput) result() json.RawMessage {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/tool/memorytool"
	"github.com/spf13/cobra"
)

// memorySpec is what a run keeps of its memory, so that another process finds it again.
type memorySpec struct {
	Memory string `json:"memory"`           // as --memory names it
	Tools  bool   `json:"tools,omitempty"`  // the agent may recall and remember
	Commit bool   `json:"commit,omitempty"` // its session is committed
	Tokens int    `json:"tokens"`           // that it is told at most; 0: nothing is told
}

// memoryFlags are the flags of a run's memory.
type memoryFlags struct {
	memorySpec
	given func(flag string) bool
}

func (f *memoryFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Memory, "memory", "", "tell the agent what this memory knows of the message: "+memoryURLs)
	flags.BoolVar(&f.Tools, "memory-tools", false, "offer the agent the tools recall and remember")
	flags.BoolVar(&f.Commit, "commit", false, "have the memory learn from the session when it ends")
	flags.IntVar(&f.Tokens, "memory-tokens", memory.DefaultTokens, "how much the agent is told of the memory at most (0: nothing)")
	f.given = flags.Changed
}

func (f memoryFlags) check() error {
	if f.Tokens < 0 {
		return fmt.Errorf("--memory-tokens %d is less than nothing", f.Tokens)
	}
	for _, flag := range []string{"memory-tools", "commit", "memory-tokens"} {
		if f.Memory == "" && f.given(flag) {
			return usage(&hinted{fmt.Errorf("--%s is of no use without a memory", flag), "--memory local:default names one"})
		}
	}
	return nil
}

// choose finds the memory of the flags, as another process finds it again; nil: there is
// none.
func (f memoryFlags) choose(a *app) (*memorySpec, error) {
	if f.Memory == "" {
		return nil, nil
	}
	chosen, err := a.chooseMemory(f.Memory)
	if err != nil {
		return nil, err
	}
	s := f.memorySpec
	s.Memory = chosen.name
	return &s, nil
}

// rechoose changes the memory of a recorded spec as --memory says.
func (s *spec) rechoose(a *app, name string) error {
	switch name {
	case "":
		return a.examineMemory(*s)
	case "none":
		s.Memory = nil
		return nil
	}
	f := memoryFlags{memorySpec: memorySpec{Tokens: memory.DefaultTokens}}
	if s.Memory != nil {
		f.memorySpec = *s.Memory
	}
	f.Memory = name
	var err error
	s.Memory, err = f.choose(a)
	return err
}

// bind gives an agent its memory.
func (s *memorySpec) bind(a *flow.Agent, m *memory.Store) {
	a.Memory, a.CommitOnForward, a.Recall.Tokens = m, s.Commit, s.Tokens
	if s.Tokens == 0 {
		a.Recall.Tokens = -1
	}
	if s.Tools {
		a.Tools = append(a.Tools, memorytool.New(m, nil)...)
	}
}

// bound is the memory of a run at work.
type bound struct {
	*memory.Store
	choice memoryChoice
	isNew  bool
	why    string // nobody extracts facts, though the session is committed
}

// openMemory opens the memory of a spec. The run's own model finds the facts in what is
// committed where no other is configured, if it is a language model.
func (a *app) openMemory(ctx context.Context, s spec, model llm.Model) (b bound, err error) {
	if b.choice, err = a.chooseMemory(s.Memory.Memory); err != nil {
		return b, err
	}
	opts := memory.Options{Log: a.memoryLog()}
	if s.Memory.Commit {
		scheme, _, _ := strings.Cut(s.Model, ":")
		if scheme == "offline" || scheme == "scripted" {
			model = nil
		}
		if opts.Extractor, err = b.choice.extractor(model, s.Params); err != nil {
			return b, err
		}
		if opts.Extractor == nil && b.choice.scheme == "local" {
			b.why = "the " + scheme + " model is no language model"
		}
	}
	b.isNew = !b.choice.exists()
	b.Store, err = b.choice.open(ctx, opts)
	return b, err
}

// files are those of a local memory, which the tools of the run must not reach.
func (b bound) files() (names []string) {
	if b.choice.scheme != "local" {
		return nil
	}
	for _, end := range storeFiles {
		names = append(names, filepath.Join(b.choice.at, local.FileName+end))
	}
	return names
}

// announceMemory says what is to be known of a run's memory before it begins.
func (d *drive) announceMemory() {
	if d.memory.Store == nil {
		return
	}
	if d.memory.isNew && !d.a.asJSON {
		d.view.note("2", "memory", d.memory.String()+" is new")
	}
	if d.memory.choice.brought {
		d.view.note("33", "warning", "the working directory has brought the notes of "+d.memory.String()+" with it ("+workDirHome+"): anybody may have written them")
	}
	if d.memory.why != "" {
		d.view.note("33", "warning", "the session will be kept in the memory, but nobody looks for facts in it: "+d.memory.why)
		d.view.note("33", "hint", "rath memory commit --model MODEL does it later, or rath config set memory.providers.NAME.chat_provider PROVIDER")
	}
}

// settleTime is how long the end of a run waits for facts to be found.
const settleTime = 30 * time.Second

// settle waits a while for what the memory does in the background, and says what is left:
// it stays in the queue.
func (d *drive) settle(ctx context.Context) {
	if d.memory.Store == nil || ctx.Err() != nil {
		return
	}
	if d.spec.Memory.Commit && d.memory.why == "" && d.memory.choice.scheme == "local" {
		d.extract(ctx)
	}
	if d.spec.Memory.Commit || d.spec.Memory.Tools {
		if err := d.a.embed(ctx, d.memory.Store, d.memory.choice); err != nil {
			d.view.note("33", "warning", err.Error())
		}
	}
}

// extract waits for the facts of what was committed.
func (d *drive) extract(ctx context.Context) {
	p := d.a.progress("find facts for the memory", 0)
	waiting, cancel := context.WithTimeout(ctx, settleTime)
	err := d.memory.Wait(waiting)
	cancel()
	p.stop()
	if err != nil && waiting.Err() == nil {
		d.view.note("33", "warning", err.Error())
		return
	}
	stats, err := d.memory.Stats(context.WithoutCancel(ctx))
	switch {
	case err != nil:
		d.view.note("33", "warning", err.Error())
	case stats.Pending > 0:
		d.view.note("33", "memory", pendingText(stats.Pending, stats.Failed)+" --memory "+d.spec.Memory.Memory)
	}
}

// shownNotes is how many of the notes that an agent was told are shown.
const shownNotes = 8

// told says what an agent was told of its memory.
func (v *view) told(t memory.Told) {
	if t.Notice != "" {
		v.note("33", "memory", t.Notice)
	}
	if len(t.Hits) == 0 {
		return
	}
	v.note("36", "memory", "the agent is told "+plural(len(t.Hits), "note"))
	for i, h := range t.Hits {
		if i == shownNotes {
			v.note("36", "note", fmt.Sprintf("and %d more", len(t.Hits)-i))
			return
		}
		v.note("36", "note", string(h.URI)+" "+oneLine(h.Snippet, 100))
	}
}

// memoryEvent is the line of NDJSON of what an agent was told or has committed.
type memoryEvent struct {
	Type string `json:"type"` // told, committed
	flow.At
	Hits      []memory.Hit      `json:"hits,omitempty"`
	Notice    string            `json:"notice,omitempty"`
	Committed *memory.Committed `json:"committed,omitempty"`
}

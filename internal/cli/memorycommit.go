package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
	"github.com/spf13/cobra"
)

// committing are the flags of a commit.
type committing struct {
	wait  bool
	model string
}

func (m *memoryCommands) commitCommand() *cobra.Command {
	var f committing
	cmd := &cobra.Command{
		Use:   "commit [SESSION]",
		Short: "Learn from a session: keep it, and its lasting facts as notes",
		Long: `Commit keeps a session's transcript and has a language model find the lasting facts in it:
the memory provider's chat_provider, or --model, or the model that rath run would use.
The same again is known, and of a session that goes on from another only what is new is
read. Without a language model, the transcript is kept and no more.

Without a SESSION, commit does what is pending, such as what rath run --commit has left,
and says which sessions have failed; to name one of those tries it again.

The SESSION is an id as for rath show. ` + idHelp,
		Example: "  rath memory commit @\n  rath memory commit --model openai:gpt-5.5 0198c0de\n  rath memory commit",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("model") && f.model == "" {
				return usageOf(cmd, errors.New("--model is empty: leave it out, or give it a value"))
			}
			if len(args) == 0 {
				return m.workOff(cmd.Context(), f)
			}
			return m.useRecords(cmd.Context(), reading, func(r *records) error {
				named, err := r.session(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				in, err := named.prefix()
				if err != nil {
					return err
				}
				return m.commit(cmd.Context(), in, f)
			})
		},
	}
	cmd.Flags().BoolVar(&f.wait, "wait", true, "until the facts are found; otherwise what there is no time for is left to the next commit")
	cmd.Flags().StringVar(&f.model, "model", "", "the model that finds the facts, as for rath run")
	return cmd
}

// extractorOf is who finds the facts for the command, or the reason why there is nobody.
func (m *memoryCommands) extractorOf(chosen memoryChoice, name string) (memory.Extractor, string, error) {
	if name == "" && (chosen.chat != "" || chosen.scheme != "local") {
		x, err := chosen.extractor(nil, llm.Params{})
		return x, "", err
	}
	c, err := choose(chosen.config, m.env, name, "")
	if err != nil || name == "" && c.scheme == "offline" {
		return nil, c.why, err
	}
	model, err := c.open(0)
	if err != nil {
		return nil, "", err
	}
	chosen.chat = ""
	x, err := chosen.extractor(model, c.params())
	return x, "", err
}

const chatHint = "name one with --model, or rath config set memory.providers.NAME.chat_provider PROVIDER"

func (m *memoryCommands) commit(ctx context.Context, in session.Session, f committing) error {
	chosen, err := m.chooseMemory(m.url)
	if err != nil {
		return err
	}
	x, why, err := m.extractorOf(chosen, f.model)
	if err != nil {
		return err
	}
	return m.with(ctx, chosen, adding, memory.Options{Extractor: x}, func(s *memory.Store) error {
		p := m.progress("find facts", 0)
		defer p.stop()
		c, err := s.Commit(ctx, in, &memory.CommitOptions{Wait: f.wait, Used: toldOf(in)})
		p.stop()
		if err != nil {
			return interrupted(ctx, err)
		}
		if why != "" && c.Archive.State == memory.Archived {
			fmt.Fprintln(m.err, "memory: the session is kept, but nobody looked for facts in it: "+why)
			fmt.Fprintln(m.err, "hint: "+chatHint)
		}
		return m.printCommitted(c)
	})
}

// toldOf names the notes that an agent was told for a session.
func toldOf(s session.Session) (uris []memory.URI) {
	for _, e := range s.Lineage().Extras {
		if uri, err := memory.ParseURI(e.Value); e.Key == memory.ToldExtra && err == nil {
			uris = append(uris, uri)
		}
	}
	return uris
}

func (m *memoryCommands) printCommitted(c memory.Committed) error {
	if m.asJSON {
		return m.writeJSON(c)
	}
	_, err := fmt.Fprintln(m.out, committedText(c))
	for _, n := range c.Notes {
		fmt.Fprintf(m.out, "  %s  %s\n", m.tint("36", prose(string(n.URI))), prose(oneLine(n.Text, 200)))
	}
	return err
}

// committedText says what became of a commit.
func committedText(c memory.Committed) string {
	text := fmt.Sprintf("session %s, %s: ", c.Archive.Session, plural(c.Archive.Len, "chunk"))
	switch c.Archive.State {
	case memory.Done:
		return text + plural(len(c.Notes), "note")
	case memory.Known:
		return text + "known already"
	case memory.Queued:
		return text + "its facts are still to be found"
	}
	return text + string(c.Archive.State)
}

// workedOff is what commit without a session shows.
type workedOff struct {
	Done    int              `json:"done"`
	Pending int              `json:"pending"` // that other processes or later tries are left with
	Failed  []memory.Archive `json:"failed"`
}

// workOff does what is pending.
func (m *memoryCommands) workOff(ctx context.Context, f committing) error {
	chosen, err := m.chooseMemory(m.url)
	if err != nil {
		return err
	}
	x, why, err := m.extractorOf(chosen, f.model)
	if err != nil {
		return err
	}
	return m.with(ctx, chosen, changing, memory.Options{Extractor: x}, func(s *memory.Store) error {
		before, err := s.Stats(ctx)
		if err != nil {
			return err
		}
		if why != "" && before.Pending > before.Failed {
			return &hinted{fmt.Errorf("%s, and nobody to find their facts: %s", pendingCount(before), why), chatHint}
		}
		p := m.progress("find facts", 0)
		defer p.stop()
		if f.wait {
			if err := s.Wait(ctx); err != nil {
				return interrupted(ctx, err)
			}
		}
		p.stop()
		return m.tellWork(ctx, s, before)
	})
}

// interrupted says what becomes of what was not done.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return err
	}
	return &hinted{fmt.Errorf("interrupted: %w", err), "what is left stays in the queue: rath memory commit goes on"}
}

func pendingCount(s memory.Stats) string { return plural(s.Pending-s.Failed, "pending commit") }

func (m *memoryCommands) tellWork(ctx context.Context, s *memory.Store, before memory.Stats) error {
	after, err := s.Stats(ctx)
	if err != nil {
		return err
	}
	work := workedOff{Done: max(before.Pending-after.Pending, 0), Pending: after.Pending - after.Failed, Failed: []memory.Archive{}}
	archives, err := s.Archives(ctx, session.ID{})
	if err != nil {
		return err
	}
	for _, a := range archives {
		if a.State == driver.Failed {
			work.Failed = append(work.Failed, a)
		}
	}
	if m.asJSON {
		err = m.writeJSON(work)
	} else if work.Done+work.Pending+len(work.Failed) == 0 {
		_, err = fmt.Fprintln(m.out, "nothing is pending")
	} else {
		_, err = fmt.Fprintf(m.out, "%s done, %d pending, %d failed\n", plural(work.Done, "commit"), work.Pending, len(work.Failed))
	}
	if err != nil || len(work.Failed) == 0 {
		return err
	}
	for _, a := range work.Failed {
		fmt.Fprintf(m.err, "failed: session %s of %s, %s\n", a.Session, when(a.Time, "2006-01-02 15:04"), plural(a.Len, "chunk"))
	}
	err = &hinted{fmt.Errorf("the facts of %s could not be found", plural(len(work.Failed), "session")), "rath memory commit SESSION tries one again"}
	if m.asJSON {
		return told{err}
	}
	return err
}

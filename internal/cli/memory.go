package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

// memoryCommands are the commands of rath memory, and the memory that they are for.
type memoryCommands struct {
	*app
	url string // --memory
}

func (a *app) memoryCommand() *cobra.Command {
	m := &memoryCommands{app: a}
	cmd := &cobra.Command{
		Use:     "memory",
		Aliases: []string{"mem"},
		Short:   "Keep notes that survive between runs, and find them again",
		Long: `A memory keeps notes under URIs such as memory://user/memories/preferences/0a1b2c3d. The
scopes are user, agent, session and resources. It is named by --memory:

  local:NAME               a folder in the OpenRath home; the default is local:default
  local:./DIR              a folder of yours
  openviking:http://HOST   an OpenViking server; OPENVIKING_API_KEY is its key
  NAME                     a provider in the configuration: memory.providers.NAME, with
                           backend_kind, path or base_url and api_key, embedding_provider
                           and chat_provider; memory.default_provider is the default

Notes are found by their words, in any language. With an embedding_provider, which names
one of llm.providers, they are found by what they mean, too. With a chat_provider the
lasting facts of sessions that are committed become notes.

An agent is told what its memory knows with rath run --memory. Notes are data to it, with
who said them, and never an instruction.`,
	}
	cmd.PersistentFlags().StringVar(&m.url, "memory", "", "the memory: "+memoryURLs+"\n(default: memory.default_provider, then local:default)")
	cmd.AddCommand(m.rememberCommand(), m.recallCommand(), m.lsCommand(), m.showCommand(), m.rmCommand(), m.mvCommand(),
		m.addCommand(), m.commitCommand(), m.exportCommand(), m.importCommand(), m.statsCommand())
	for _, sub := range cmd.Commands() {
		sub.PreRunE = m.given(sub.PreRunE)
	}
	_ = cmd.RegisterFlagCompletionFunc("memory", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return memorySchemes(), cobra.ShellCompDirectiveNoSpace
	})
	return cmd
}

// given refuses an empty --memory, which is most often a variable that is not set.
func (m *memoryCommands) given(next func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("memory") && m.url == "" {
			return usageOf(cmd, errors.New("--memory is empty: leave it out, or give it a value"))
		}
		if next == nil {
			return nil
		}
		return next(cmd, args)
	}
}

// use opens the memory for a command.
func (m *memoryCommands) use(ctx context.Context, how access, do func(s *memory.Store) error) error {
	chosen, err := m.chooseMemory(m.url)
	if err != nil {
		return err
	}
	return m.with(ctx, chosen, how, memory.Options{}, do)
}

// with opens a memory. Who only looks makes none: a name that is not there is a wrong one,
// and the default is empty as long as nothing is kept.
func (m *memoryCommands) with(ctx context.Context, chosen memoryChoice, how access, o memory.Options, do func(s *memory.Store) error) error {
	if how != adding && !chosen.exists() {
		if m.url != "" {
			return &hinted{fmt.Errorf("there is no memory %s yet", chosen.name), "rath memory remember --memory " + m.url + " TEXT makes it"}
		}
		empty, err := os.MkdirTemp("", "rath-memory-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(empty)
		chosen.at = empty
	}
	o.Log = m.memoryLog()
	s, err := chosen.open(ctx, o)
	if err != nil {
		return err
	}
	err = memoryHint(do(s))
	if err == nil && how != reading {
		err = m.embed(ctx, s, chosen)
	}
	if closeErr := s.Close(); err == nil {
		err = closeErr
	}
	return err
}

// parseMeta reads key=value pairs.
func parseMeta(pairs []string) (map[string]string, error) {
	meta := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, fmt.Errorf("--meta %q is no key=value", pair)
		}
		meta[k] = v
	}
	return meta, nil
}

// completeURI completes the URI of a note or folder.
func (m *memoryCommands) completeURI(cmd *cobra.Command, _ []string, begun string) (uris []string, _ cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	folder := memory.Root
	if i := strings.LastIndexByte(begun, '/'); i >= len(memory.Root) {
		folder = memory.URI(begun[:i])
	}
	chosen, err := m.chooseMemory(m.url)
	if err != nil || !chosen.exists() {
		return nil, directive
	}
	_ = m.with(cmd.Context(), chosen, reading, memory.Options{}, func(s *memory.Store) error { // nobody reads an error here
		entries, err := s.List(cmd.Context(), folder)
		for _, e := range entries {
			if e.IsNote {
				uris = append(uris, visible(string(e.URI), "")+"\t"+printable(oneLine(e.Abstract, 60)))
			}
			if e.Notes != 0 {
				uris = append(uris, visible(string(e.URI), "")+"/")
			}
		}
		return err
	})
	return uris, directive
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

func (m *memoryCommands) exportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export DIR",
		Short: "Write the notes as a directory of Markdown files, as OpenRath has them",
		Long: `Export writes a directory of Markdown files, one a note, in the layout of OpenRath's: the
folders user, agent, session and resources. DIR must not be there, or be empty.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.use(cmd.Context(), reading, func(s *memory.Store) error {
				err := m.transfer(cmd.Context(), "export", s.Export, args[0])
				if errors.Is(err, fs.ErrExist) {
					err = &hinted{err, "name a directory that is not there yet"}
				}
				return err
			})
		},
	}
}

func (m *memoryCommands) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import DIR",
		Short: "Take over a directory of Markdown files, as OpenRath has them",
		Long: `Import takes over a directory in the layout of OpenRath's, a Markdown file a note. Notes
that are there already are replaced. Other files are kept, so that export writes the same
directory again.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.use(cmd.Context(), adding, func(s *memory.Store) error {
				return m.transfer(cmd.Context(), "import", s.Import, args[0])
			})
		},
	}
}

func (m *memoryCommands) transfer(ctx context.Context, verb string, do func(context.Context, string) (memory.Transferred, error), dir string) error {
	p := m.progress(verb, 0)
	defer p.stop()
	done, err := do(ctx, dir)
	p.stop()
	if errors.Is(err, fs.ErrNotExist) {
		err = &hinted{err, "check the name of the directory"}
	}
	switch {
	case err != nil:
		return err
	case m.asJSON:
		return m.writeJSON(done)
	}
	text := fmt.Sprintf("%sed %s", verb, plural(done.Notes, "note"))
	if done.Others > 0 {
		text += ", " + plural(done.Others, "other file")
	}
	_, err = fmt.Fprintln(m.out, text)
	return err
}

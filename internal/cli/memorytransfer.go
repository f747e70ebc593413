package cli

import (
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
				err := m.transfer("export", func(tell func(memory.Progress)) (memory.Transferred, error) {
					return s.Export(cmd.Context(), args[0], &memory.ExportOptions{Progress: tell})
				})
				if errors.Is(err, fs.ErrExist) {
					err = &hinted{err, "name a directory that is not there yet"}
				}
				return err
			})
		},
	}
}

func (m *memoryCommands) importCommand() *cobra.Command {
	var trust bool
	cmd := &cobra.Command{
		Use:   "import DIR",
		Short: "Take over a directory of Markdown files, as OpenRath has them",
		Long: `Import takes over a directory in the layout of OpenRath's, a Markdown file a note. Notes
that are there already are replaced. Other files are kept, so that export writes the same
directory again. Links, and files that cannot be kept, are skipped and named.

The files may say who said what is in them: a person, a model, a tool, a document. That is
believed with --trust only; without, it is not known of any of them.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.use(cmd.Context(), adding, func(s *memory.Store) error {
				return m.transfer("import", func(tell func(memory.Progress)) (memory.Transferred, error) {
					return s.Import(cmd.Context(), args[0], &memory.ImportOptions{Trust: trust, Progress: tell})
				})
			})
		},
	}
	cmd.Flags().BoolVar(&trust, "trust", false, "believe what the files say of who said it: for an export of yours")
	return cmd
}

func (m *memoryCommands) transfer(verb string, do func(tell func(memory.Progress)) (memory.Transferred, error)) error {
	p := m.progress(verb, 0)
	defer p.stop()
	done, err := do(p.memory)
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
	m.tellSkipped(done.Skipped)
	text := fmt.Sprintf("%sed %s", verb, plural(done.Notes, "note"))
	if done.Others > 0 {
		text += ", " + plural(done.Others, "other file")
	}
	if len(done.Skipped) > 0 {
		text += ", " + plural(len(done.Skipped), "file") + " skipped"
	}
	_, err = fmt.Fprintln(m.out, text)
	return err
}

// memory takes up what a memory tells of an addition, an import or an export.
func (p *progress) memory(at memory.Progress) {
	p.total.Store(int64(at.Total))
	p.done.Store(int64(at.Files))
}

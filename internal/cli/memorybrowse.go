package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

func (m *memoryCommands) lsCommand() *cobra.Command {
	var tree bool
	var depth int
	cmd := &cobra.Command{
		Use:     "ls [URI]",
		Short:   "List the notes and folders in a folder",
		Example: "  rath memory ls\n  rath memory ls memory://user/memories\n  rath memory ls --tree --depth 3",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case depth < 0:
				return usageOf(cmd, fmt.Errorf("--depth %d is less than nothing", depth))
			case cmd.Flags().Changed("depth"):
				tree = true
			}
			folder := memory.Root
			if len(args) > 0 {
				folder = memory.URI(args[0])
			}
			return m.use(cmd.Context(), reading, func(s *memory.Store) error {
				if tree {
					return m.tree(cmd.Context(), s, folder, depth)
				}
				return m.ls(cmd.Context(), s, folder)
			})
		},
		ValidArgsFunction: m.completeURI,
	}
	cmd.Flags().BoolVar(&tree, "tree", false, "also what is in the folders in it")
	cmd.Flags().IntVar(&depth, "depth", 0, "how deep the tree is (0: all of it)")
	return cmd
}

// entry is what is in a folder, as ls shows it.
type entry struct{ memory.Entry }

func (e entry) cells() []string {
	switch {
	case !e.IsNote:
		return []string{string(e.URI) + "/", e.count(), "", ""}
	case e.Notes != 0:
		return []string{string(e.URI), amount(int64(e.Size)) + ", " + e.count(), when(e.Time, "2006-01-02 15:04"), e.abstract(60)}
	}
	return []string{string(e.URI), amount(int64(e.Size)), when(e.Time, "2006-01-02 15:04"), e.abstract(60)}
}

// abstract says of a note that another took the place of that it did.
func (e entry) abstract(width int) string {
	if e.Ended {
		return "(ended) " + oneLine(e.Abstract, width)
	}
	return oneLine(e.Abstract, width)
}

func (e entry) count() string {
	if e.Notes < 0 {
		return "folder"
	}
	return plural(e.Notes, "note")
}

func (m *memoryCommands) ls(ctx context.Context, s *memory.Store, folder memory.URI) error {
	entries, err := s.List(ctx, folder)
	if errors.Is(err, memory.ErrNotFound) {
		n, noteErr := s.Get(ctx, folder)
		if noteErr != nil {
			return err
		}
		entries, err = []memory.Entry{{URI: n.URI, IsNote: true, Size: len(n.Text), Time: n.Time, Abstract: memory.AbstractOf(n.Text)}}, nil
	}
	if err != nil {
		return err
	}
	rows := make([]entry, len(entries))
	for i, e := range entries {
		rows[i] = entry{e}
	}
	return list(m.app, rows)
}

// tree writes what is in a folder and below it, each line as deep as what it names.
func (m *memoryCommands) tree(ctx context.Context, s *memory.Store, folder memory.URI, depth int) error {
	folder, err := memory.ParseURI(string(folder))
	if err != nil {
		return err
	}
	entries, err := s.Tree(ctx, folder, depth)
	if err != nil {
		return err
	}
	if m.asJSON {
		for _, e := range entries {
			if err := m.writeJSON(e); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintln(m.out, prose(string(folder)))
	for _, e := range entries {
		line := strings.Repeat("  ", depthIn(folder, e.URI)) + m.tint("36", prose(e.URI.Base()))
		if e.Notes != 0 {
			line += "/"
		}
		if e.IsNote {
			line += "  " + prose(entry{e}.abstract(80))
		}
		fmt.Fprintln(m.out, line)
	}
	return nil
}

func depthIn(folder, u memory.URI) (n int) {
	for ; u != folder && u != memory.Root; u = u.Parent() {
		n++
	}
	return n
}

func (m *memoryCommands) showCommand() *cobra.Command {
	var level string
	cmd := &cobra.Command{
		Use:   "show URI",
		Short: "Show a note and what is known of it, or what is in a folder",
		Long: `Show a note and what is known of it, or what is in a folder. With --level it is only the
text: all of it (detail), its headings and beginnings (overview), or a sentence or two
(abstract).`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			levels := []memory.Level{"", memory.Abstract, memory.Overview, memory.Detail}
			if !slices.Contains(levels, memory.Level(level)) {
				return usageOf(cmd, errors.New("--level must be abstract, overview or detail"))
			}
			return m.use(cmd.Context(), reading, func(s *memory.Store) error {
				return m.show(cmd.Context(), s, memory.URI(args[0]), memory.Level(level))
			})
		},
		ValidArgsFunction: m.completeURI,
	}
	cmd.Flags().StringVar(&level, "level", "", "how much of the text: abstract, overview or detail")
	return cmd
}

func (m *memoryCommands) show(ctx context.Context, s *memory.Store, uri memory.URI, level memory.Level) error {
	n, err := s.Get(ctx, uri)
	if err == nil && level == "" {
		return m.printNote(n)
	}
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	text, err := s.Read(ctx, uri, level)
	if err != nil {
		return err
	}
	if m.asJSON {
		return m.writeJSON(map[string]any{"uri": uri, "level": cmp.Or(level, memory.Detail), "text": text})
	}
	_, err = fmt.Fprintln(m.out, prose(strings.TrimSuffix(text, "\n")))
	return err
}

func (m *memoryCommands) printNote(n memory.Note) error {
	if m.asJSON {
		return m.writeJSON(n)
	}
	lines := [][2]string{
		{"note", string(n.URI)}, {"said", when(n.Time, time.RFC3339) + " by " + saidBy(n.Trust)}, {"kept", when(n.Created, time.RFC3339)},
		{"until", when(n.Until, time.RFC3339)}, {"replaces", string(n.Replaces)}, {"title", n.Title}, {"context", n.Context}, {"about", n.About},
		{"origin", n.Source.Origin}, {"session", sessionAt(n.Source)},
	}
	if n.Importance != 0 {
		lines = append(lines, [2]string{"importance", fmt.Sprint(n.Importance)})
	}
	for _, k := range slices.Sorted(maps.Keys(n.Meta)) {
		lines = append(lines, [2]string{"meta", k + "=" + n.Meta[k]})
	}
	for _, line := range lines {
		if line[1] != "" && line[1] != "-" {
			fmt.Fprintf(m.out, "%-10s %s\n", line[0], prose(line[1]))
		}
	}
	fmt.Fprintln(m.out)
	printIndented(m.out, n.Text)
	return nil
}

// sessionAt names a chunk in the numbers of rath show, which begin with 0.
func sessionAt(s memory.Source) string {
	switch {
	case s.Session.IsZero():
		return ""
	case s.Chunk == 0:
		return s.Session.String()
	}
	return fmt.Sprintf("%s, chunk [%d]", s.Session, s.Chunk-1)
}

func (m *memoryCommands) rmCommand() *cobra.Command {
	var recursive bool
	cmd := &cobra.Command{
		Use:     "rm URI",
		Short:   "Remove a note, or a folder with all that is in it",
		Example: "  rath memory rm memory://user/memories/preferences/0a1b2c3d\n  rath memory rm -r memory://resources/handbook.pdf",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.use(cmd.Context(), changing, func(s *memory.Store) error {
				return m.remove(cmd.Context(), s, memory.URI(args[0]), recursive)
			})
		},
		ValidArgsFunction: m.completeURI,
	}
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "a folder, with all that is in it")
	return cmd
}

func (m *memoryCommands) remove(ctx context.Context, s *memory.Store, uri memory.URI, recursive bool) error {
	n, err := s.Remove(ctx, uri, recursive)
	switch {
	case errors.Is(err, memory.ErrInvalid) && !errors.Is(err, memory.ErrInvalidURI) && !recursive:
		return &hinted{err, "rath memory rm -r removes a folder with all that is in it"}
	case err != nil:
		return err
	case m.asJSON:
		return m.writeJSON(map[string]any{"uri": uri, "removed": n})
	case n < 0:
		_, err = fmt.Fprintln(m.out, "removed "+prose(string(uri)))
		return err
	}
	_, err = fmt.Fprintln(m.out, "removed "+plural(n, "note"))
	return err
}

func (m *memoryCommands) mvCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "mv FROM TO",
		Short:   "Give a note or a folder another URI",
		Example: "  rath memory mv memory://user/memories/facts/0a1b2c3d memory://user/memories/facts/city",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.use(cmd.Context(), changing, func(s *memory.Store) error {
				err := s.Move(cmd.Context(), memory.URI(args[0]), memory.URI(args[1]))
				switch {
				case err != nil:
					return err
				case m.asJSON:
					return m.writeJSON(map[string]string{"from": args[0], "to": args[1]})
				}
				_, err = fmt.Fprintf(m.out, "moved to %s\n", prose(args[1]))
				return err
			})
		},
		ValidArgsFunction: m.completeURI,
	}
}

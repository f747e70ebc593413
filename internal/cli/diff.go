package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/openrath-go/rath/session"
	"github.com/spf13/cobra"
)

func (a *app) diffCommand() *cobra.Command {
	var stat, files bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Show where two sessions part",
		Long: `Show where two sessions part: what they have in common is folded, the rest is compared as
text. ID@N is a session's first N chunks. With --files it is what the files of their
workspaces were at the end of each.

` + idHelp,
		Example: "  rath diff 0198c0de 0198c0df\n  rath diff 0198c0de@4 @ --stat\n  rath diff 0198c0de@2 @ --files",
		Args:    cobra.ExactArgs(2),
		RunE: a.withRecords(reading, func(ctx context.Context, r *records, args []string) error {
			if files {
				return a.diffFiles(ctx, r, args, stat)
			}
			return a.diff(ctx, r, args, stat)
		}),
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only count")
	cmd.Flags().BoolVar(&files, "files", false, "compare the files of the workspaces instead of the chunks")
	return cmd
}

func (a *app) diff(ctx context.Context, r *records, args []string, stat bool) error {
	var sides [2]side
	for i, arg := range args {
		s, err := r.session(ctx, arg)
		if err != nil {
			return err
		}
		sides[i] = newSide(s)
	}
	d := session.Diff(sides[0].content, sides[1].content)
	sides[0].only, sides[1].only = d.OnlyA, d.OnlyB
	switch {
	case a.asJSON:
		return a.writeJSON(map[string]any{
			"a": sides[0].name, "b": sides[1].name, "common": d.Common,
			"only_a": append([]session.Chunk{}, d.OnlyA...), "only_b": append([]session.Chunk{}, d.OnlyB...),
		})
	case stat:
		return list(a, sides[:])
	}
	return a.printDiff(sides, d.Common)
}

// side is one of two sessions that are compared.
type side struct {
	session.Head
	name    string
	content session.Session
	only    []session.Chunk
}

func newSide(s found) side {
	name := s.ID().String()
	if s.n < s.Len() {
		name = fmt.Sprintf("%s@%d", name, s.n)
	}
	content := session.Restore(session.Record{ID: s.ID(), Content: s.Transcript().First(s.n)})
	return side{Head: s.Head(), name: name, content: content}
}

func (s side) cells() []string {
	counts := map[session.Kind]int{}
	for _, c := range s.only {
		counts[c.Kind()]++
	}
	var kinds []string
	for _, k := range []session.Kind{session.KindSystem, session.KindUser, session.KindAssistant, session.KindToolResult} {
		if counts[k] > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", counts[k], k))
		}
	}
	common := s.content.Len() - len(s.only)
	return []string{s.name, plural(common, "chunk") + " in common", fmt.Sprintf("%d of its own", len(s.only)), strings.Join(kinds, ", ")}
}

func (a *app) printDiff(sides [2]side, common int) error {
	out := fmt.Sprintf("%s in common\n", plural(common, "chunk"))
	if len(sides[0].only)+len(sides[1].only) == 0 {
		out += "no difference\n"
	}
	out += udiff.Unified(sides[0].name, sides[1].name, sides[0].text(common), sides[1].text(common))
	_, err := fmt.Fprint(a.out, a.paint(prose(out)))
	return err
}

// text is what the side has of its own, as show writes it.
func (s side) text(from int) string {
	var b strings.Builder
	for i, c := range s.only {
		fmt.Fprintf(&b, "[%d] %s\n", from+i, chunkTitle(c))
		for _, line := range chunkLines(c) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}

// paint colors the lines of a diff, on a terminal.
func (a *app) paint(diff string) string {
	if !a.coloredOut() {
		return diff
	}
	lines := strings.Split(diff, "\n")
	for i, line := range lines {
		color := map[string]string{"-": "31", "+": "32", "@": "36"}[line[:min(1, len(line))]]
		if color != "" {
			lines[i] = "\x1b[" + color + "m" + line + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

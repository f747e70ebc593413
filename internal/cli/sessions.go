package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/spf13/cobra"
)

// sessions returns the folder of session files.
func (a *app) sessions() (jsonl.Dir, error) {
	home, _, err := config.Home(a.env)
	return jsonl.Dir(filepath.Join(home, "sessions")), err
}

func (a *app) lsCommand() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List sessions, the newest last",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageOf(cmd, fmt.Errorf("--limit %d is less than nothing", limit))
			}
			return a.ls(all, limit)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also what users wrote and agents were told, which are sessions too")
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "how many of the newest (0: all)")
	return cmd
}

// summary is a session as ls shows it.
type summary struct {
	ID      session.ID `json:"id"`
	Time    time.Time  `json:"time"`
	Kind    string     `json:"kind"`
	Path    string     `json:"path,omitempty"`
	Chunks  int        `json:"chunks"`
	Partial bool       `json:"partial"`
	Text    string     `json:"text"`
	Problem string     `json:"problem,omitempty"`
}

func (a *app) ls(all bool, limit int) error {
	dir, err := a.sessions()
	if err != nil {
		return err
	}
	infos, err := dir.List()
	if err != nil {
		return err
	}
	var rows []summary
	for i := len(infos) - 1; i >= 0 && (limit == 0 || len(rows) < limit); i-- {
		if row, ok := summarise(infos[i], all); ok {
			rows = append([]summary{row}, rows...)
		}
	}
	if a.asJSON {
		for _, r := range rows {
			if err := a.writeJSON(r); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		state := r.Kind
		if r.Partial {
			state += " (partial)"
		}
		text := oneLine(r.Text, 40)
		if r.Problem != "" {
			state, text = "unreadable", oneLine(r.Problem, 400)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", r.ID, when(r.Time, time.DateTime), state, r.Chunks, prose(text))
	}
	return w.Flush()
}

// when is a time as the user's clock has it; what is the same whenever it is made, as a
// prompt is, has none.
func when(t time.Time, layout string) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format(layout)
}

// summarise reads a file; one that cannot be read is shown with its problem.
func summarise(info jsonl.Info, all bool) (summary, bool) {
	row := summary{ID: info.ID, Partial: info.Partial}
	f, err := jsonl.Open(info.Path)
	var s session.Session
	if err == nil {
		s, err = f.Session()
	}
	if err != nil {
		row.Problem = err.Error()
		return row, true
	}
	l := s.Lineage()
	row.Time, row.Kind, row.Path, row.Chunks, row.Text = l.Time, l.Op.String(), l.Path, s.Len(), s.Text()
	return row, all || l.Op != session.OpLeaf && l.Op != session.OpAppend
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: its chunks, where it came from, what it cost",
		Long:  "Show a session by its id, the beginning of its id, or @ for the last one.",
		Args:  cobra.ExactArgs(1),
		RunE:  func(_ *cobra.Command, args []string) error { return a.show(args[0]) },
	}
}

func (a *app) show(id string) error {
	dir, err := a.sessions()
	if err != nil {
		return err
	}
	info, err := dir.Find(id)
	if err != nil {
		return findHint(err)
	}
	s, err := load(dir, info.ID.String())
	if err != nil {
		return err
	}
	if a.asJSON {
		out := sessionJSON{
			ID: s.ID(), Digest: s.Digest(), Lineage: s.Lineage(), Usage: s.Usage(), Total: s.Total(),
			Placement: placementOf(s.Placement()), Partial: info.Partial, Chunks: []session.Chunk{},
		}
		for _, c := range s.All() {
			out.Chunks = append(out.Chunks, c)
		}
		return a.writeJSON(out)
	}
	printSession(a.out, s, info.Partial)
	return nil
}

// load reads a session that the user has named.
func load(dir jsonl.Dir, id string) (session.Session, error) {
	s, err := dir.Load(id)
	return s, findHint(err)
}

func findHint(err error) error {
	switch {
	case err == nil || hintOf(err) != "":
		return err
	case errors.Is(err, jsonl.ErrNotFound):
		return &hinted{err, "rath ls lists the sessions"}
	}
	return &hinted{err, "the file is no whole session: rath ls lists the others"}
}

func printSession(w io.Writer, s session.Session, partial bool) {
	line := func(format string, args ...any) { fmt.Fprintln(w, prose(fmt.Sprintf(format, args...))) }
	l, u := s.Lineage(), s.Usage()
	state := ""
	if partial {
		state = " (partial)"
	}
	line("session %s%s", s.ID(), state)
	line("made    %s by %s %s", when(l.Time, time.RFC3339), l.Op, l.Path)
	for _, p := range l.Parents {
		line("parent  %s (%s)", p.ID, p.Role)
	}
	for _, e := range l.Extras {
		line("note    %s: %s", e.Key, oneLine(e.Value, 300))
	}
	if p := s.Placement(); p.Backend != "" {
		line("place   %s:%s (%s)", p.Backend, p.Spec.WorkingDir, p.Level)
	}
	line("usage   %d+%d tokens in %d calls, cost %s", u.Input, u.Output, u.Calls, u.Cost)
	line("digest  %s", s.Digest())
	for i, c := range s.All() {
		line("\n[%d] %s", i, chunkTitle(c))
		for _, text := range chunkLines(c) {
			line("    %s", text)
		}
	}
}

func chunkTitle(c session.Chunk) string {
	if c.Kind() != session.KindToolResult {
		return c.Kind().String()
	}
	return fmt.Sprintf("%s of %s: %s", c.Kind(), c.Answer().Tool, c.Answer().Outcome)
}

func chunkLines(c session.Chunk) (lines []string) {
	for p := range c.Parts() {
		switch p.Kind {
		case session.PartText:
			lines = append(lines, strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n")...)
		case session.PartReasoning:
			lines = append(lines, "(reasoning) "+oneLine(p.Text, 300))
		default:
			lines = append(lines, fmt.Sprintf("(%s %s%s %s, %d bytes)", p.Kind, p.Name, p.URL, p.MIME, len(p.Data)))
		}
	}
	for call := range c.Calls() {
		lines = append(lines, fmt.Sprintf("→ %s %s", call.Name, oneLine(call.Arguments, 1000)))
	}
	return lines
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

// logFlags say which sessions log shows, and how.
type logFlags struct {
	graph          bool
	format         string
	run, agent, op string
	since, until   string
	limit          int
	limited        bool                // the user has said how many
	filter         store.SessionFilter // of the flags
}

// drawings are the formats of a graph.
var drawings = map[string]func(*graph.Graph, io.Writer, *graph.Options) error{
	"text": (*graph.Graph).WriteText, "dot": (*graph.Graph).WriteDOT, "mermaid": (*graph.Graph).WriteMermaid,
	"svg": (*graph.Graph).WriteSVG, "json": (*graph.Graph).WriteJSON, "openrath": (*graph.Graph).WriteOpenRath,
}

func (a *app) logCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log [ID]",
		Short: "Show where sessions come from",
		Long: `Log shows sessions, the newest first; of an ID, that session and all that it comes from.
With --graph it draws their lineage, as git log --graph does. The formats dot, mermaid and
svg are drawings, json is the graph as data, openrath is OpenRath's lineage file.

` + idHelp,
		Example: `  rath log --graph
  rath log @ --format svg >lineage.svg
  rath log --agent review --since 24h
  rath log --run 0198c0de --op forward`,
		Args: cobra.MaximumNArgs(1),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.graph, "graph", false, "draw the lineage")
	flags.StringVar(&f.format, "format", "", "text, dot, mermaid, svg, json or openrath (all but text draw the lineage)")
	flags.StringVar(&f.run, "run", "", "only sessions that this run has made")
	flags.StringVar(&f.agent, "agent", "", "only sessions that this agent or workflow has made, or one below it")
	flags.StringVar(&f.op, "op", "", "only sessions made by this operation: leaf, append, fork, detach, merge, forward, compress")
	flags.StringVar(&f.since, "since", "", "only sessions made at this time or later: 2026-01-31, 2026-01-31T15:04:05Z, or 24h or 7d ago")
	flags.StringVar(&f.until, "until", "", "only sessions made before this time")
	flags.IntVarP(&f.limit, "limit", "n", 20, "how many of the newest (0: all; with an ID all are shown unless it is given)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := f.check(time.Now())
		if err == nil && a.asJSON && f.drawn() && !slices.Contains([]string{"", "json", "openrath"}, f.format) {
			err = fmt.Errorf("--format %s is no JSON: leave out --json, or use --format json or openrath", f.format)
		}
		if err != nil {
			return usageOf(cmd, err)
		}
		f.limited = cmd.Flags().Changed("limit")
		return a.useRecords(cmd.Context(), reading, func(r *records) error { return a.log(cmd.Context(), r, f, args) })
	}
	return cmd
}

// check reads the flags.
func (f *logFlags) check(now time.Time) (err error) {
	if f.format != "" && drawings[f.format] == nil {
		return fmt.Errorf("--format %s: it must be text, dot, mermaid, svg, json or openrath", f.format)
	}
	if f.limit < 0 {
		return fmt.Errorf("--limit %d is less than nothing", f.limit)
	}
	f.filter.Path = f.agent
	if f.op != "" {
		if _ = f.filter.Op.UnmarshalText([]byte(f.op)); f.filter.Op.String() != f.op || f.filter.Op == session.OpUnknown {
			return fmt.Errorf("--op %s: there is no such operation", f.op)
		}
	}
	if f.filter.Since, err = parseTime(f.since, now); err != nil {
		return fmt.Errorf("--since %w", err)
	}
	if f.filter.Until, err = parseTime(f.until, now); err != nil {
		return fmt.Errorf("--until %w", err)
	}
	return nil
}

// parseTime reads a time, or how long ago it was.
func parseTime(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	ago, err := parseAge(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is no time such as 2026-01-31, and no duration such as 24h or 7d", text)
	}
	return now.Add(-ago), nil
}

// parseAge reads a duration; it may also be in days, 30d, or weeks, 2w.
func parseAge(text string) (time.Duration, error) {
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, ok := strings.CutSuffix(text, suffix); ok {
			if n, err := strconv.Atoi(number); err == nil && n >= 0 && n < 1e5 {
				return time.Duration(n) * unit, nil
			}
		}
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%s is less than nothing", text)
	}
	return d, err
}

func (a *app) log(ctx context.Context, r *records, f logFlags, args []string) error {
	if f.run != "" {
		run, err := r.run(ctx, f.run)
		if err != nil {
			return err
		}
		f.filter.Run = run.ID.String()
	}
	p := a.progress("read sessions", 0)
	defer p.stop()
	if f.drawn() {
		return a.logGraph(ctx, r, f, args, p)
	}
	sessions, err := r.logged(ctx, f, f.filter, args)
	if err != nil {
		return err
	}
	p.stop()
	rows := make([]logRow, len(sessions))
	for i, l := range sessions {
		rows[i] = logRow(l)
	}
	return list(a, rows)
}

func (f *logFlags) drawn() bool { return f.graph || f.format != "" && f.format != "text" }

// logged returns the sessions that the filter chooses, as many as are wanted.
func (r *records) logged(ctx context.Context, f logFlags, filter store.SessionFilter, args []string) ([]listed, error) {
	if len(args) == 0 {
		return r.list(ctx, selection{SessionFilter: filter, limit: f.limit})
	}
	named, err := r.session(ctx, args[0])
	if err != nil {
		return nil, err
	}
	all, err := r.lineage(ctx, named, filter)
	if f.limited {
		all = first(all, f.limit)
	}
	return all, err
}

// logGraph draws. With a filter all is read, to see what connects the chosen ones, and
// the limit becomes a time.
func (a *app) logGraph(ctx context.Context, r *records, f logFlags, args []string, p *progress) error {
	chosen, err := r.logged(ctx, f, f.filter, args)
	if err != nil {
		return err
	}
	if !f.filtered() {
		p.stop()
		return a.draw(f, chosen, func(g *graph.Graph) *graph.Graph { return g })
	}
	all := f
	all.limit, all.limited = 0, false
	sessions, err := r.logged(ctx, all, store.SessionFilter{}, args)
	if err != nil {
		return err
	}
	filter := graph.Filter{Run: f.filter.Run, Path: f.filter.Path, Op: f.filter.Op, Since: f.filter.Since, Until: f.filter.Until}
	if n := len(chosen); n > 0 && n == f.limit {
		filter.Since = chosen[n-1].Lineage.Time
	}
	p.stop()
	return a.draw(f, sessions, func(g *graph.Graph) *graph.Graph { return g.Filter(filter) })
}

func (f *logFlags) filtered() bool {
	g := f.filter
	return g.Run != "" || g.Path != "" || g.Op != session.OpUnknown || !g.Since.IsZero() || !g.Until.IsZero()
}

// draw writes the graph of sessions, of which some are chosen.
func (a *app) draw(f logFlags, sessions []listed, choose func(*graph.Graph) *graph.Graph) error {
	g, err := graph.New(func(yield func(session.Head, error) bool) {
		for _, l := range sessions {
			if l.problem == nil && !yield(l.Head, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	format := cmp.Or(f.format, "text")
	if f.format == "" && a.asJSON {
		format = "json"
	}
	return drawings[format](choose(g), a.out, &graph.Options{Location: time.Local, Color: a.coloredOut()})
}

// logRow is a session in the log.
type logRow listed

func (l logRow) cells() []string {
	u := l.Usage
	tokens, made := "", strings.TrimSpace(listed(l).kind()+" "+l.Lineage.Path)
	if u.Calls > 0 {
		tokens = fmt.Sprintf("%d+%d tokens, %s", u.Input, u.Output, u.Cost)
	}
	if l.problem != nil {
		made = "unreadable: " + oneLine(l.problem.Error(), 400)
	}
	return []string{l.ID.String(), when(l.Lineage.Time, time.DateTime), made, plural(l.Len, "chunk"), tokens}
}

// MarshalJSON writes the session's head.
func (l logRow) MarshalJSON() ([]byte, error) {
	var problem string
	if l.problem != nil {
		problem = l.problem.Error()
	}
	return json.Marshal(struct {
		session.Head
		Partial bool   `json:"partial"`
		Problem string `json:"problem,omitempty"`
	}{l.Head, l.partial, problem})
}

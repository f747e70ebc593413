package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/spf13/cobra"
)

func (a *app) lsCommand() *cobra.Command {
	var all bool
	var limit int
	cmd := &cobra.Command{
		Use:     "ls",
		Short:   "List sessions, the newest last",
		Example: "  rath ls\n  rath ls --all -n 0",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageOf(cmd, fmt.Errorf("--limit %d is less than nothing", limit))
			}
			return a.useRecords(cmd.Context(), reading, func(r *records) error { return a.ls(cmd.Context(), r, all, limit) })
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

func (s summary) cells() []string {
	state, text := s.Kind, oneLine(s.Text, 40)
	if s.Partial {
		state += " (partial)"
	}
	if s.Problem != "" {
		state, text = "unreadable", oneLine(s.Problem, 400)
	}
	return []string{s.ID.String(), when(s.Time, time.DateTime), state, strconv.Itoa(s.Chunks), text}
}

func (a *app) ls(ctx context.Context, r *records, all bool, limit int) error {
	s := selection{limit: limit}
	if !all {
		s.keep = func(h session.Head) bool { return h.Lineage.Op != session.OpLeaf && h.Lineage.Op != session.OpAppend }
	}
	sessions, err := r.list(ctx, s)
	if err != nil {
		return err
	}
	p := a.progress("read sessions", len(sessions))
	defer p.stop()
	var rows []summary
	for _, l := range slices.Backward(sessions) {
		row, err := r.summarise(ctx, l)
		if err != nil {
			return err
		}
		rows = append(rows, row)
		p.done.Add(1)
	}
	p.stop()
	return list(a, rows)
}

func (r *records) summarise(ctx context.Context, l listed) (summary, error) {
	row := summary{
		ID: l.ID, Time: l.Lineage.Time, Kind: l.Lineage.Op.String(), Path: l.Lineage.Path,
		Chunks: l.Len, Partial: l.partial, Text: l.text,
	}
	if l.problem != nil {
		row.Problem = l.problem.Error()
	}
	if l.inFile {
		return row, nil
	}
	s, err := r.Session(ctx, l.ID)
	if errors.Is(err, store.ErrDamaged) {
		row.Problem = err.Error()
		return row, nil
	}
	row.Text = s.Text()
	return row, err
}

func (a *app) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show a session: its chunks, where it came from, what it cost",
		Long: `Show a session, or of ID@N its first N chunks. transcript:DIGEST is what a session says, or
begins with, by its digest: what a compression took out, for instance.

` + idHelp,
		Example: "  rath show @\n  rath show 0198c0de@3",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(reading, func(ctx context.Context, r *records, args []string) error {
			if digest, ok := strings.CutPrefix(args[0], "transcript:"); ok {
				return a.showTranscript(ctx, r, digest)
			}
			s, err := r.session(ctx, args[0])
			if err != nil {
				return err
			}
			return a.show(ctx, r, s)
		}),
	}
}

func (a *app) show(ctx context.Context, r *records, s found) error {
	total, err := r.total(ctx, s)
	if err != nil {
		return err
	}
	files, err := r.callFiles(ctx, s)
	if err != nil {
		return err
	}
	snapshot, err := r.snapshot(ctx, s)
	if err != nil && !errors.Is(err, errNoSnapshot) {
		return err
	}
	if !a.asJSON {
		printSession(a.out, s, total, snapshot, files)
		return nil
	}
	l := s.Lineage()
	l.Extras = jsonl.Notes(l.Extras)
	out := sessionJSON{
		ID: s.ID(), Digest: s.Digest(), Lineage: l, Usage: s.Usage(), Total: total,
		Placement: placementOf(s.Placement()), Partial: s.partial, Chunks: []session.Chunk{},
		Snapshot: snapshot, Files: files,
	}
	for _, c := range s.Transcript().First(s.n).All() {
		out.Chunks = append(out.Chunks, c)
	}
	return a.writeJSON(out)
}

// total is what the session and all that it comes from have cost.
func (r *records) total(ctx context.Context, s found) (total session.Usage, err error) {
	all, err := r.lineage(ctx, s, store.SessionFilter{})
	for _, l := range all {
		total = total.Add(l.Usage)
	}
	return total, err
}

func printSession(w io.Writer, s found, total session.Usage, snapshot sandbox.SnapshotID, files []callFiles) {
	line := func(format string, args ...any) { fmt.Fprintln(w, prose(fmt.Sprintf(format, args...))) }
	l, u := s.Lineage(), s.Usage()
	state := ""
	if s.partial {
		state = " (partial)"
	}
	line("session %s%s", s.ID(), state)
	line("made    %s by %s", when(l.Time, time.RFC3339), strings.TrimSpace(l.Op.String()+" "+l.Path))
	for _, p := range l.Parents {
		line("parent  %s (%s)", p.ID, p.Role)
	}
	if l.Run != "" {
		line("run     %s", l.Run)
	}
	for _, e := range jsonl.Notes(l.Extras) {
		switch e.Key {
		case session.MarkKey:
		case memory.ToldExtra:
			line("told    %s", oneLine(e.Value, 300))
		default:
			line("note    %s: %s", e.Key, oneLine(e.Value, 300))
		}
	}
	if p := s.Placement(); p.Backend != "" {
		line("place   %s", placed(p))
	}
	if snapshot != "" {
		line("files   %s", snapshot)
	}
	if n, ok := jsonl.ImportedTokens(l); ok {
		line("usage   %d tokens by its file, in no total", n)
	} else {
		line("usage   %d+%d tokens in %d calls, cost %s", u.Input, u.Output, u.Calls, u.Cost)
	}
	if total != u {
		line("total   %d+%d tokens in %d calls, cost %s, with all that it comes from", total.Input, total.Output, total.Calls, total.Cost)
	}
	line("digest  %s", s.Digest())
	for i, c := range s.Transcript().First(s.n).All() {
		printChunk(line, i, c)
		for _, f := range files {
			if f.Chunk == i {
				printFiles(line, f)
			}
		}
	}
	if s.n < s.Len() {
		line("\n(%s more)", plural(s.Len()-s.n, "chunk"))
	}
}

func printChunk(line func(format string, args ...any), i int, c session.Chunk) {
	line("\n[%d] %s", i, chunkTitle(c))
	for _, text := range chunkLines(c) {
		line("    %s", text)
	}
}

// showTranscript shows what is known by its digest.
func (a *app) showTranscript(ctx context.Context, r *records, text string) error {
	var digest session.Digest
	if err := digest.UnmarshalText([]byte(text)); err != nil {
		return usage(err)
	}
	t, err := r.Transcript(ctx, digest)
	if err != nil {
		return err
	}
	if a.asJSON {
		out := transcriptJSON{Digest: digest, Chunks: []session.Chunk{}}
		for _, c := range t.All() {
			out.Chunks = append(out.Chunks, c)
		}
		return a.writeJSON(out)
	}
	line := func(format string, args ...any) { fmt.Fprintln(a.out, prose(fmt.Sprintf(format, args...))) }
	line("digest  %s", digest)
	for i, c := range t.All() {
		printChunk(line, i, c)
	}
	return nil
}

type transcriptJSON struct {
	Digest session.Digest  `json:"digest"`
	Chunks []session.Chunk `json:"chunks"`
}

// placed says where a session is placed, and at which level of isolation if that is known.
func placed(p sandbox.Placement) string {
	text := p.Backend + ":" + p.Spec.WorkingDir
	if p.Level != "" {
		text += fmt.Sprintf(" (%s)", p.Level)
	}
	return text
}

// printFiles writes what a call did to files.
func printFiles(line func(string, ...any), f callFiles) {
	for _, text := range f.text() {
		line("    file: %s", text)
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

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

// recollection are the flags of a search.
type recollection struct {
	limit               int
	under, meta, trust  []string
	match, since, until string
	ended               bool
}

func (m *memoryCommands) recallCommand() *cobra.Command {
	var f recollection
	cmd := &cobra.Command{
		Use:   "recall QUERY...",
		Short: "Find notes, the best first",
		Long: `Recall finds the notes that answer a query, the best first: words in any order and any
language; "words in quotes" follow each other, and a star at the end of a word stands for
any ending. Where there is an embedding provider, what they mean counts too.

Notes that another took the place of are left out, unless --ended is given.`,
		Example: "  rath memory recall which city\n  rath memory recall --under memory://resources --limit 10 '\"token bucket\" rate*'\n  rath memory recall --json --since 7d deploy",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return usageOf(cmd, err)
			}
			query, err := m.text(cmd.Context(), "query", args)
			if err != nil {
				return err
			}
			return m.use(cmd.Context(), reading, func(s *memory.Store) error { return m.recall(cmd.Context(), s, query, o) })
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&f.limit, "limit", "n", memory.DefaultLimit, "how many notes at most")
	flags.StringArrayVar(&f.under, "under", nil, "only in this folder, a URI (may be repeated)")
	flags.StringVar(&f.match, "match", "", "how notes are found: words or meaning (default: by both, where there is an embedding provider)")
	flags.StringVar(&f.since, "since", "", "said at this time or later: 2026-01-31, or an age such as 7d")
	flags.StringVar(&f.until, "until", "", "said before this time")
	flags.BoolVar(&f.ended, "ended", false, "also what another note took the place of")
	flags.StringArrayVar(&f.meta, "meta", nil, "with this metadata, key=value (may be repeated)")
	flags.StringSliceVar(&f.trust, "trust", nil, "only by whom it was said: user, agent, tool, resource")
	_ = cmd.RegisterFlagCompletionFunc("under", m.completeURI)
	return cmd
}

// options reads the flags.
func (f recollection) options() (o memory.RecallOptions, err error) {
	o = memory.RecallOptions{Limit: f.limit, Match: memory.Matching(f.match), Ended: f.ended}
	if f.limit < 1 || f.limit > memory.MaxLimit {
		return o, fmt.Errorf("--limit %d: it is from 1 to %d", f.limit, memory.MaxLimit)
	}
	if !slices.Contains([]memory.Matching{memory.MatchBest, memory.MatchWords, memory.MatchMeaning}, o.Match) {
		return o, fmt.Errorf("--match must be words or meaning")
	}
	for _, text := range f.under {
		uri, err := memory.ParseURI(text)
		if err != nil {
			return o, fmt.Errorf("--under: %w", err)
		}
		o.Under = append(o.Under, uri)
	}
	for _, text := range f.trust {
		trust := memory.Trust(text)
		if trust == memory.TrustUnknown || !trust.Valid() {
			return o, fmt.Errorf("--trust %q: the labels are user, agent, tool, resource", text)
		}
		o.Trust = append(o.Trust, trust)
	}
	now := time.Now()
	if o.Since, err = parseTime(f.since, now); err != nil {
		return o, fmt.Errorf("--since: %w", err)
	}
	if o.Until, err = parseTime(f.until, now); err != nil {
		return o, fmt.Errorf("--until: %w", err)
	}
	o.Meta, err = parseMeta(f.meta)
	return o, err
}

func (m *memoryCommands) recall(ctx context.Context, s *memory.Store, query string, o memory.RecallOptions) error {
	found, err := s.Recall(ctx, query, &o)
	switch {
	case errors.Is(err, memory.ErrUnsupported) && o.Match == memory.MatchMeaning:
		return &hinted{err, "rath config set memory.providers.NAME.embedding_provider PROVIDER names who makes vectors"}
	case err != nil:
		return err
	}
	if found.Notice != "" {
		fmt.Fprintln(m.err, "memory: "+printable(found.Notice))
	}
	if m.asJSON {
		if found.Hits == nil {
			found.Hits = []memory.Hit{}
		}
		return m.writeJSON(found)
	}
	if len(found.Hits) == 0 {
		fmt.Fprintln(m.err, "nothing was found")
	}
	for i, h := range found.Hits {
		if i > 0 {
			fmt.Fprintln(m.out)
		}
		m.printHit(h)
	}
	return nil
}

// printHit writes what was found, under where and from whom it is.
func (m *memoryCommands) printHit(h memory.Hit) {
	about := []string{fmt.Sprintf("%.3f", h.Score), when(h.Time, "2006-01-02 15:04"), saidBy(h.Trust)}
	if !h.Until.IsZero() {
		about = append(about, "until "+when(h.Until, "2006-01-02 15:04"))
	}
	fmt.Fprintf(m.out, "%s  %s\n", m.tint("36", prose(string(h.URI))), m.tint("2", strings.Join(about, "  ")))
	for _, text := range slices.Compact([]string{h.Title, h.Context}) {
		if text != "" {
			fmt.Fprintln(m.out, "    "+m.tint("2", prose(oneLine(text, 200))))
		}
	}
	printIndented(m.out, h.Snippet)
}

func printIndented(w *output, text string) {
	for line := range strings.Lines(prose(text)) {
		if line = strings.TrimRight(line, "\n"); line != "" {
			line = "    " + line
		}
		fmt.Fprintln(w, line)
	}
}

// tint colors a text for stdout. It is printable already.
func (a *app) tint(color, text string) string {
	if !a.coloredOut() {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func saidBy(t memory.Trust) string {
	if t == memory.TrustUnknown {
		return "unknown"
	}
	return string(t)
}

// noting are the flags of a note.
type noting struct {
	memory.RememberOptions
	meta []string
}

func (m *memoryCommands) rememberCommand() *cobra.Command {
	var f noting
	cmd := &cobra.Command{
		Use:   "remember TEXT...",
		Short: "Keep a text as a note",
		Long: `Remember keeps a text as a note; - is stdin. The same words again are the same note. A
note that is --about something takes the place of what was said about that before in its
folder: the older one stays, with the time until which it held.`,
		Example: "  rath memory remember I live in Lisbon\n  rath memory remember --about user.city --importance 0.9 I live in Porto now\n  date | rath memory remember --category events -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if f.Meta, err = parseMeta(f.meta); err == nil && !(f.Importance >= 0 && f.Importance <= 1) {
				err = fmt.Errorf("--importance %v: it is from 0 to 1", f.Importance)
			}
			if err != nil {
				return usageOf(cmd, err)
			}
			text, err := m.text(cmd.Context(), "note", args)
			if err != nil {
				return err
			}
			return m.use(cmd.Context(), adding, func(s *memory.Store) error { return m.remember(cmd.Context(), s, text, f.RememberOptions) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Scope, "scope", "user", "the scope: user, agent, session, resources")
	flags.StringVar(&f.Category, "category", "preferences", "the folder in it: preferences, profile, events, facts, or another")
	flags.StringVar(&f.About, "about", "", "the subject, of which one thing is true at a time: user.city")
	flags.Float64Var(&f.Importance, "importance", 0, "from 0 to 1 (0: not told)")
	flags.StringArrayVar(&f.meta, "meta", nil, "metadata, key=value (may be repeated)")
	return cmd
}

func (m *memoryCommands) remember(ctx context.Context, s *memory.Store, text string, o memory.RememberOptions) error {
	n, err := s.Remember(ctx, text, &o)
	switch {
	case err != nil:
		return err
	case m.asJSON:
		return m.writeJSON(n)
	case n.Replaces != "":
		fmt.Fprintf(m.err, "in place of %s\n", printable(string(n.Replaces)))
	}
	_, err = fmt.Fprintln(m.out, prose(string(n.URI)))
	return err
}

// text joins the arguments; - is stdin.
func (m *memoryCommands) text(ctx context.Context, what string, args []string) (string, error) {
	parts := slices.Clone(args)
	for i, arg := range parts {
		if arg == "-" {
			text, err := m.stdin(ctx, what)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
	}
	text := strings.TrimSpace(strings.Join(parts, " "))
	switch {
	case text == "":
		return "", usage(errors.New("the " + what + " is empty"))
	case !utf8.ValidString(text):
		return "", usage(errors.New("the " + what + " is not text in UTF-8"))
	}
	return text, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/spf13/cobra"
)

func (a *app) importCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE|DIR",
		Short: "Bring OpenRath's session files into the store",
		Long: `Bring OpenRath's session files into the store: a file, a folder of them, or an OpenRath
home. What is there already is left as it is, so it can be done again. Files that a crash
cut off are taken as far as they go. rath export writes the same files again.`,
		Example: "  rath import ~/.openrath\n  rath import session.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: a.withRecords(adding, func(ctx context.Context, r *records, args []string) error {
			return a.importFiles(ctx, r, args[0])
		}),
	}
}

// imported counts what became of files.
type imported struct {
	New     int      `json:"new"`
	Partial int      `json:"partial"` // of the new ones
	Known   int      `json:"known"`   // they were there already
	Failed  []string `json:"failed"`  // why not
}

func (a *app) importFiles(ctx context.Context, r *records, path string) error {
	files, err := jsonl.Scan(path)
	if err != nil {
		return &hinted{fmt.Errorf("import: %w", err), "name a session file, a folder of them, or an OpenRath home"}
	}
	p := a.progress("import", len(files))
	defer p.stop()
	n := imported{Failed: []string{}}
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return &hinted{fmt.Errorf("interrupted: %w", err), "import again: what is there is passed over"}
		}
		if err := r.importFile(ctx, file, &n); err != nil {
			return storeHint(err)
		}
		p.done.Add(1)
	}
	p.stop()
	return a.imported(n)
}

// importFile brings in one file. An error is one of the store; what is wrong with the
// file is noted.
func (r *records) importFile(ctx context.Context, file string, n *imported) error {
	s, err := readImport(file)
	if err != nil {
		n.Failed = append(n.Failed, err.Error())
		return nil
	}
	kept, err := r.Session(ctx, s.ID())
	switch {
	case err == nil && kept.Digest() == s.Digest():
		n.Known++
		return nil
	case err == nil:
		n.Failed = append(n.Failed, fmt.Sprintf("%s: the store has session %s with other chunks, and keeps it", file, s.ID()))
		return nil
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	n.New++
	if jsonl.IsPartial(s.Lineage()) {
		n.Partial++
	}
	return r.PutSessions(ctx, s)
}

func readImport(file string) (session.Session, error) {
	f, err := jsonl.Open(file)
	if err != nil {
		return session.Session{}, err
	}
	s, err := f.Import()
	if err != nil {
		err = fmt.Errorf("read session %s: %w", file, err)
	}
	return s, err
}

func (a *app) imported(n imported) error {
	if a.asJSON {
		if err := a.writeJSON(n); err != nil {
			return err
		}
	} else {
		partial := ""
		if n.Partial > 0 {
			partial = fmt.Sprintf(" (%d partial)", n.Partial)
		}
		fmt.Fprintf(a.out, "%s imported%s, %d there already, %d failed\n", plural(n.New, "session"), partial, n.Known, len(n.Failed))
		for _, why := range n.Failed {
			fmt.Fprintln(a.err, "failed: "+printable(why))
		}
	}
	if len(n.Failed) > 0 {
		return &hinted{fmt.Errorf("import: %s failed", plural(len(n.Failed), "file")), "what failed is no session file of OpenRath's, or not whole; the others are in the store"}
	}
	return nil
}

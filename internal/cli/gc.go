package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) gcCommand() *cobra.Command {
	var older string
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc",
		Short: "Remove old runs and sessions, and what nothing refers to",
		Long: `Remove from the store the runs that ended before an age and the sessions that were made
before it, if no younger session or run comes from them, and everything that nothing
refers to any more. Without --older-than only the latter goes.`,
		Example: "  rath gc --older-than 30d --dry-run\n  rath gc --older-than 30d",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&older, "older-than", "", "an age such as 30d, 2w or 12h")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "remove nothing, only say what would go")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c := store.Collection{DryRun: dry}
		if older != "" {
			age, err := parseAge(older)
			if err != nil {
				return usageOf(cmd, fmt.Errorf("--older-than %s is no age such as 30d, 2w or 12h", older))
			}
			c.Before = time.Now().Add(-age)
		}
		return a.useRecords(cmd.Context(), changing, func(r *records) error { return a.gc(cmd.Context(), r, c) })
	}
	return cmd
}

func (a *app) gc(ctx context.Context, r *records, c store.Collection) error {
	p := a.progress("gc", 0)
	defer p.stop()
	n, err := r.Collect(ctx, c)
	if err != nil {
		return storeFailure(err)
	}
	p.stop()
	if a.asJSON {
		return a.writeJSON(n)
	}
	verb := "removed"
	if c.DryRun {
		verb = "would remove"
	}
	_, err = fmt.Fprintf(a.out, "%s %s, %s, %s, %s (%s)\n", verb, plural(n.Runs, "run"), plural(n.Events, "event"),
		plural(n.Sessions, "session"), plural(n.Objects, "object"), amount(n.Bytes))
	return err
}

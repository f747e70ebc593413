package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/spf13/cobra"
)

func (a *app) forkCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "fork ID[@N]",
		Short:   "Begin a branch of a session, or of its first N chunks",
		Long:    "Begin a branch of a session, or of its first N chunks. The new session's id goes to stdout.\n\n" + idHelp,
		Example: "  rath fork @\n  rath run --session \"$(rath fork 0198c0de@3)\" \"Try it another way\"",
		Args:    cobra.ExactArgs(1),
		RunE: a.makes(func(s []found) (session.Session, error) {
			return s[0].branch()
		}),
	}
}

func (a *app) detachCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "detach ID",
		Short:   "Make a session with the same chunks that comes from nowhere",
		Long:    "Make a session with the same chunks and no parents. The new session's id goes to stdout.\n\n" + idHelp,
		Example: "  rath detach @",
		Args:    cobra.ExactArgs(1),
		RunE: a.makes(func(s []found) (session.Session, error) {
			whole, err := s[0].prefix()
			return whole.Detach(), err
		}),
	}
}

func (a *app) mergeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "merge A B...",
		Short: "Make one session of several branches",
		Long: `Make one session of several: what they have in common at the beginning once, then what
each has of its own, in the order given. The new session's id goes to stdout.

` + idHelp,
		Example: "  rath merge 0198c0de 0198c0df",
		Args:    cobra.MinimumNArgs(2),
		RunE: a.makes(func(all []found) (session.Session, error) {
			var parts []session.Session
			for _, f := range all {
				s, err := f.prefix()
				if err != nil {
					return s, err
				}
				parts = append(parts, s)
			}
			merged, err := session.Merge(parts...)
			if errors.Is(err, session.ErrCutCall) {
				err = &hinted{err, "the same call gave them different results, which rath diff shows: go on with one of them, or merge what comes before the call, as ID@N"}
			}
			return merged, err
		}),
	}
}

// makes is the RunE of a command that makes a session of others.
func (a *app) makes(from func([]found) (session.Session, error)) func(*cobra.Command, []string) error {
	return a.withRecords(adding, func(ctx context.Context, r *records, args []string) error {
		var named []found
		for _, arg := range args {
			s, err := r.session(ctx, arg)
			if err != nil {
				return err
			}
			named = append(named, s)
		}
		s, err := from(named)
		if err != nil {
			return err
		}
		if err := r.PutSessions(ctx, s); err != nil {
			return storeHint(err)
		}
		if a.asJSON {
			return a.writeJSON(s.Head())
		}
		_, err = fmt.Fprintln(a.out, s.ID())
		return err
	})
}

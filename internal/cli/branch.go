package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/openrath-go/rath/session"
	"github.com/spf13/cobra"
)

func (a *app) forkCommand() *cobra.Command {
	var with branchFiles
	cmd := &cobra.Command{
		Use:   "fork ID[@N]",
		Short: "Begin a branch of a session, or of its first N chunks",
		Long: `Begin a branch of a session, or of its first N chunks. The new session's id goes to stdout.

With --workspace the branch takes the files along: those of the workspace as they were
after that chunk go to a directory of its own, in which rath run --session goes on. What
.gitignore files leave out is not among them, nor is the folder .git.

` + idHelp,
		Example: "  rath fork @\n  rath run --session \"$(rath fork 0198c0de@3 --workspace)\" \"Try it another way\"",
		Args:    cobra.ExactArgs(1),
		RunE: a.makes(func(ctx context.Context, r *records, s []found) (session.Session, error) {
			wanted, err := with.wanted()
			if err != nil {
				return session.Session{}, err
			}
			branch, err := s[0].branch()
			if err != nil || !wanted {
				return branch, err
			}
			id, err := r.snapshot(ctx, s[0])
			if err != nil {
				return branch, err
			}
			return with.place(ctx, a, r, branch, id)
		}),
	}
	with.flags(cmd, "where the files go: a directory that is empty or does not exist (default: one in the OpenRath home)")
	return cmd
}

func (a *app) detachCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "detach ID",
		Short:   "Make a session with the same chunks that comes from nowhere",
		Long:    "Make a session with the same chunks and no parents. The new session's id goes to stdout.\n\n" + idHelp,
		Example: "  rath detach @",
		Args:    cobra.ExactArgs(1),
		RunE: a.makes(func(ctx context.Context, r *records, s []found) (session.Session, error) {
			whole, err := s[0].prefix()
			if err != nil {
				return whole, err
			}
			if id, err := r.snapshot(ctx, s[0]); err == nil {
				whole = whole.WithMark(id) // what it came from will not tell any more
			}
			return whole.Detach(), nil
		}),
	}
}

func (a *app) mergeCommand() *cobra.Command {
	var with branchFiles
	cmd := &cobra.Command{
		Use:   "merge A B...",
		Short: "Make one session of several branches",
		Long: `Make one session of several: what they have in common at the beginning once, then what
each has of its own, in the order given. The new session's id goes to stdout.

With --workspace the files of their workspaces are merged too, against those of the
session that they all come from. They go to a directory of the merged session's own, or
with --dir into one that is there, whose own changes are kept. Where changes do not go
together nothing is made, and the files are named; with --markers the merged files have
both sides between markers.

` + idHelp,
		Example: "  rath merge 0198c0de 0198c0df\n  rath merge 0198c0de 0198c0df --workspace --dir .",
		Args:    cobra.MinimumNArgs(2),
		RunE: a.makes(func(ctx context.Context, r *records, all []found) (session.Session, error) {
			wanted, err := with.wanted()
			if err != nil {
				return session.Session{}, err
			}
			merged, err := mergeSessions(all)
			if err != nil || !wanted {
				return merged, err
			}
			return with.merge(ctx, a, r, all, merged)
		}),
	}
	with.flags(cmd, "where the merged files go (default: a directory in the OpenRath home)")
	cmd.Flags().BoolVar(&with.markers, "markers", false, "merge files that do not go together with conflict markers")
	return cmd
}

func mergeSessions(all []found) (session.Session, error) {
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
}

// makes is the RunE of a command that makes a session of others.
func (a *app) makes(from func(context.Context, *records, []found) (session.Session, error)) func(*cobra.Command, []string) error {
	return a.withRecords(adding, func(ctx context.Context, r *records, args []string) error {
		var named []found
		for _, arg := range args {
			s, err := r.session(ctx, arg)
			if err != nil {
				return err
			}
			named = append(named, s)
		}
		s, err := from(ctx, r, named)
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

package flow

import (
	"context"
	"errors"
	"strconv"

	"github.com/openrath-go/rath/session"
	"golang.org/x/sync/errgroup"
)

// Parallel forks the session, runs the branches at the same time, and merges what they
// give: the shared prefix once, then each branch's own chunks, in the order of the
// branches. Where the session's sandbox can be forked, each branch works in a workspace of
// its own, and these are merged as [Branches.Join] does. No branches: the identity.
type Parallel struct {
	Branches []Workflow
	Limit    int      // how many run at once; 0: all
	Share    bool     // have the branches work in the session's own workspace
	Resolve  Workflow `flow:"optional"` // resolves conflicts between files; nil: they are an error
}

// Forward runs the branches, each in a scope of its number. The first error cancels the
// others; the session that comes with it merges all the branches as far as they got, and
// the session's workspace is as it was, unless it is shared.
func (p *Parallel) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	if len(p.Branches) == 0 {
		return s, nil
	}
	b, err := p.branch(ctx, s)
	if err != nil {
		return s, err
	}
	if err := p.run(ctx, b.Sessions); err != nil {
		merged, mergeErr := b.Merge(ctx)
		return merged, errors.Join(err, mergeErr, b.Close())
	}
	out, err := b.Join(ctx, p.Resolve)
	return out, errors.Join(err, b.Close())
}

func (p *Parallel) branch(ctx context.Context, s session.Session) (*Branches, error) {
	if p.Share {
		return share(s, len(p.Branches)), nil
	}
	return Branch(ctx, s, len(p.Branches))
}

// run replaces each fork by what its branch makes of it, and returns the first error.
func (p *Parallel) run(ctx context.Context, outs []session.Session) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(p.limit())
	for i, w := range p.Branches {
		g.Go(func() (err error) {
			outs[i], err = Forward(ctx, strconv.Itoa(i), w, outs[i])
			return err
		})
	}
	return g.Wait()
}

func (p *Parallel) limit() int {
	if p.Limit > 0 {
		return p.Limit
	}
	return len(p.Branches)
}

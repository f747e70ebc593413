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
// branches. They share the session's sandbox. No branches: the identity.
type Parallel struct {
	Branches []Workflow
	Limit    int // how many run at once; 0: all
}

// Forward runs the branches, each in a scope of its number. The first error cancels the
// others; the session that comes with it merges all the branches as far as they got.
func (p *Parallel) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	if len(p.Branches) == 0 {
		return s, nil
	}
	outs := make([]session.Session, len(p.Branches))
	for i := range outs {
		outs[i] = s.Fork() // in order, before anything runs: ids are minted the same way each time
	}
	err := p.run(ctx, outs)
	outs[0] = journaled(ctx, outs[0]) // the merged session is named here, not in a branch
	merged, mergeErr := session.Merge(outs...)
	if mergeErr != nil {
		return s, errors.Join(err, fail(ctx, s.ID(), "merge", mergeErr))
	}
	return merged, err
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

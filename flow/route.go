package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash"

	"github.com/openrath-go/rath/session"
)

// DefaultMaxRounds is how often a route goes on unless it says otherwise.
const DefaultMaxRounds = 16

// ErrMaxRounds is returned when a selector has still not come to an end after the last
// round it was allowed.
var ErrMaxRounds = errors.New("the route did not come to an end")

// Route has a selector choose a workflow, runs it, and so on until nothing is left to do.
// Set its fields before the first use; then it is safe for concurrent use.
type Route struct {
	Selector  *Selector
	Choices   []Workflow
	Default   Workflow `flow:"optional"` // what runs when no choice fits; nil: that is an error
	MaxRounds int      // workflows to run; 0: DefaultMaxRounds
}

// Forward goes round until the selector chooses [Done]. The error is one of
// [Selector.Select], a workflow's own, or ErrMaxRounds; the session with it is as far as
// the route got.
func (r *Route) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	if r.Selector == nil {
		return s, fail(ctx, s.ID(), "select", missing("selector"))
	}
	for round := 0; ; round++ {
		next, out, err := r.next(ctx, s)
		s = out
		switch {
		case err != nil || next == nil:
			return s, err
		case round >= r.maxRounds():
			return s, fail(ctx, s.ID(), "select", fmt.Errorf("%w in %d rounds", ErrMaxRounds, round))
		}
		if s, err = Forward(ctx, "", next, s); err != nil {
			return s, err
		}
	}
}

// next is the workflow to run, nil when nothing is left to do.
func (r *Route) next(ctx context.Context, s session.Session) (Workflow, session.Session, error) {
	c, err := r.Selector.Choose(ctx, s, r.Choices...)
	switch {
	case errors.Is(err, ErrNoMatch) && orNil(r.Default) != nil:
		return r.Default, c.Session, nil
	case c.Name == choiceDone:
		return nil, c.Session, err
	}
	return c.Workflow, c.Session, err
}

// Check reports what would keep the route from working.
func (r *Route) Check() error {
	var errs []error
	if r.Selector == nil {
		errs = append(errs, missing("selector"))
	} else {
		errs = append(errs, r.Selector.Check())
	}
	if r.MaxRounds < 0 {
		errs = append(errs, fmt.Errorf("MaxRounds is %d", r.MaxRounds))
	}
	_, err := newOffer(r.Choices)
	return errors.Join(append(errs, err)...)
}

func (r *Route) maxRounds() int { return cmp.Or(r.MaxRounds, DefaultMaxRounds) }

func (r *Route) title() string {
	if r.Selector == nil {
		return "Route(no selector)"
	}
	return fmt.Sprintf("Route(%q, %s)", r.Selector.name(), modelName(r.Selector.Model))
}

// fingerprint has the descriptions too: they decide what is chosen.
func (r *Route) fingerprint(h hash.Hash) {
	if r.Selector != nil {
		r.Selector.fingerprint(h)
	}
	for _, w := range r.Choices {
		if orNil(w) != nil {
			fmt.Fprintf(h, "%q\n", describe(w))
		}
	}
	fmt.Fprintln(h, r.maxRounds())
}

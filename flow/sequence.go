package flow

import (
	"context"

	"github.com/openrath-go/rath/session"
)

// Sequence runs workflows one after the other, each on the session of the one before.
// The empty Sequence is the identity.
type Sequence []Workflow

// Forward runs the steps and stops at the first error.
func (q Sequence) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	for _, w := range q {
		var err error
		if s, err = Forward(ctx, "", w, s); err != nil {
			return s, err
		}
	}
	return s, nil
}

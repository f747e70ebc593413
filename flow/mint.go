package flow

import (
	"context"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/session"
)

// minted is what a journal keeps of a session's identity.
type minted struct {
	ID   session.ID `json:"id"`
	Time time.Time  `json:"time"`
}

// journaled lets a session's descendants take their identity through the journal of
// ctx, so that a resumed or replayed run makes the same sessions again.
func journaled(ctx context.Context, s session.Session) session.Session {
	if !effect.Journaled(ctx) {
		return s
	}
	ctx = context.WithoutCancel(ctx) // who is cancelled still names what it leaves
	return s.WithMint(func() (session.ID, time.Time) {
		m, err := effect.Do(ctx, effect.Call{Kind: "session", Class: effect.ReadOnly, Instant: true},
			func(context.Context) (minted, error) {
				id, at := session.NewID()
				return minted{id, at.UTC()}, nil
			})
		if err != nil { // the run is over: its journal takes nothing any more
			return session.NewID()
		}
		return m.ID, m.Time
	})
}

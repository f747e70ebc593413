package tool

import (
	"context"
	"errors"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
)

// invocation is what a running tool can learn of the call it serves.
type invocation struct {
	session session.Session
	call    session.Call
	ticket  *ticket // the call's own, or that of the call that it is made in
}

type invocationKey struct{}

func invocationOf(ctx context.Context) *invocation {
	inv, _ := ctx.Value(invocationKey{}).(*invocation)
	return inv
}

// SessionOf returns the session that the running call belongs to, as it was when the
// model made the call; the empty session outside a call.
func SessionOf(ctx context.Context) session.Session {
	if inv := invocationOf(ctx); inv != nil {
		return inv.session
	}
	return session.Session{}
}

// CallOf returns the call that is running, the zero Call outside one.
func CallOf(ctx context.Context) session.Call {
	if inv := invocationOf(ctx); inv != nil {
		return inv.call
	}
	return session.Call{}
}

// ErrNoSandbox is returned where a tool needs a sandbox and the session is not placed.
var ErrNoSandbox = errors.New("the session is not placed on a sandbox: place it with To")

// SandboxOf returns the sandbox that the running call's session is placed on.
func SandboxOf(ctx context.Context) (*sandbox.Sandbox, error) {
	if sb := SessionOf(ctx).Sandbox(); sb != nil {
		return sb, nil
	}
	return nil, ErrNoSandbox
}

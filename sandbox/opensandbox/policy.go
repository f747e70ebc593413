package opensandbox

import (
	"context"
	"fmt"
	"net/http"

	"github.com/openrath-go/rath/sandbox/driver"
)

// egressPort is where the guard of a sandbox's network listens.
const egressPort = 18080

type networkPolicy struct {
	Default string       `json:"defaultAction"`
	Rules   []egressRule `json:"egress,omitempty"`
}

type egressRule struct {
	Action string `json:"action"`
	Target string `json:"target"`
}

// egress is a policy's network in the server's terms. nil: nothing is denied.
func egress(p driver.Policy) *networkPolicy {
	if p.Network == driver.NetworkAllow {
		return nil
	}
	return &networkPolicy{Default: "deny"}
}

// settle refuses what no server can enforce, and fills in what is left open: the least
// that every server has is an open network.
func settle(p driver.Policy) (driver.Policy, error) {
	refusal := &driver.PolicyError{Level: p.Level}
	switch p.Level {
	case "", Level, driver.LevelStrongest:
		p.Level, refusal.Level = Level, Level
	default:
		refusal.Reason, refusal.Remedy = "what isolates a sandbox is the server's business", `use level "`+Level+`"`
		return p, refusal
	}
	switch p.Network {
	case "":
		p.Network = driver.NetworkAllow
	case driver.NetworkAllow, driver.NetworkDeny, driver.NetworkLoopback:
	default:
		refusal.Missing, refusal.Reason = fmt.Sprintf("the network %q", p.Network), "there is no such policy"
		refusal.Remedy = "choose one of deny, loopback and allow"
		return p, refusal
	}
	switch {
	case len(p.ReadOnly)+len(p.Writable) > 0:
		refusal.Missing, refusal.Reason, refusal.Remedy = "rules for files", "a sandbox has only its image and its workspace", "leave the paths out, or use another driver"
	case len(p.Env) > 0:
		refusal.Missing, refusal.Reason, refusal.Remedy = "inherited variables", "its commands do not run on this machine", "give the values as Options.Env"
	case p.Limits.Processes > 0:
		refusal.Missing, refusal.Reason, refusal.Remedy = "the limit of processes", "its commands may be the superuser's, whom no such limit holds", "leave it to the server"
	default:
		return p, nil
	}
	return p, refusal
}

func networkRefusal(n driver.Network, reason string) error {
	return &driver.PolicyError{
		Level: Level, Missing: fmt.Sprintf("the network %q", n), Reason: reason,
		Remedy: "have the server run its egress component with enforcement by nftables, or allow the network",
	}
}

// verifyNetwork asks the guard of the network whether it does what the policy asks for: one
// that only watches names lets addresses through.
func (b *box) verifyNetwork(ctx context.Context) error {
	if egress(b.policy) == nil {
		return nil
	}
	var state struct {
		Enforcement string        `json:"enforcementMode"`
		Policy      networkPolicy `json:"policy"`
	}
	guard, err := b.client.endpoint(ctx, b.id, egressPort, b.opts.UseServerProxy)
	if err == nil {
		err = guard.call(ctx, http.MethodGet, "/policy", nil, nil, &state)
	}
	reason := ""
	switch {
	case err != nil:
		reason = "the guard of its network does not answer: " + err.Error()
	case state.Enforcement != "dns+nft":
		reason = fmt.Sprintf("the server enforces it by %q, which lets addresses through", state.Enforcement)
	case state.Policy.Default != "deny" || len(state.Policy.Rules) > 0:
		reason = "the sandbox was made with another policy"
	default:
		b.netDeny = true
		return nil
	}
	return networkRefusal(b.policy.Network, reason)
}

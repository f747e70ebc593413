package llm

import "github.com/openrath-go/rath/session"

// mostNano is what is believed of the cost of one call: a million dollars.
const mostNano = 1_000_000 * 1_000_000_000

// plausible is usage as far as a server can be believed; nil if its counts cannot be. With
// less than nothing, or more than there is, sums would be wrong for the whole lineage, and a
// budget no limit.
func plausible(u session.Usage) *session.Usage {
	for _, n := range []int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning} {
		if n < 0 || n > mostTokens {
			return nil
		}
	}
	if u.Cost.Nano < 0 || u.Cost.Nano > mostNano || u.Cost.Unpriced < 0 {
		u.Cost = session.Cost{Unpriced: 1}
	}
	return &u
}

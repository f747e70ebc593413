package llm

import (
	"math"

	"github.com/openrath-go/rath/session"
)

// Rate is what a million tokens cost, in billionths of a US dollar.
type Rate int64

// Price is what the tokens of a model cost.
type Price struct {
	Input      Rate
	Output     Rate
	CacheRead  Rate // of input that the provider had in its cache
	CacheWrite Rate // of input that it put there
	Reasoning  Rate // of output that the model spent on reasoning

	// Above is how much input a call may have for these rates; 0: any. Longer calls cost Long
	// altogether; nil: nobody knows what.
	Above int64
	Long  *Price
}

// most is a bound on what is believed: tokens of a call, and dollars for a million of them.
// Within it no product overflows.
const (
	mostTokens  = 1_000_000_000_000
	mostDollars = 1_000
	million     = 1_000_000
)

// Cost returns what the usage of one call costs, rounded to a billionth of a dollar. It is
// unknown for calls without token counts, and where Price says so.
func (p *Price) Cost(u session.Usage) session.Cost {
	if p.Above > 0 && u.Input > p.Above {
		if p.Long == nil {
			return session.Cost{Unpriced: max(u.Calls, 1)}
		}
		return p.Long.Cost(u)
	}
	whole, rest := int64(0), int64(million/2) // of a nano dollar, in millionths
	for _, part := range []struct {
		tokens int64
		rate   Rate
	}{
		{u.Input - u.CacheRead - u.CacheWrite, p.Input}, {u.CacheRead, p.CacheRead}, {u.CacheWrite, p.CacheWrite},
		{u.Output - u.Reasoning, p.Output}, {u.Reasoning, p.Reasoning},
	} {
		n := max(0, min(part.tokens, mostTokens))
		whole += n / million * int64(part.rate)
		rest += n % million * int64(part.rate)
	}
	return session.Cost{Nano: whole + rest/million, Unpriced: u.Unreported}
}

// rateOf makes a rate of dollars for a million tokens.
func rateOf(dollars float64) (Rate, bool) {
	return Rate(math.Round(dollars * 1e9)), dollars >= 0 && dollars <= mostDollars
}

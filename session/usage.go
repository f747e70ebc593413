package session

import "fmt"

// Usage is what making one session cost, its parents left out: a lineage's total is
// the sum over every ancestor, each once. The zero Usage is no cost at all.
type Usage struct {
	Calls      int64 `json:"calls"`       // completed model calls
	Unreported int64 `json:"unreported"`  // of those, how many came back without token counts
	Input      int64 `json:"input"`       // prompt tokens, cached ones included
	Output     int64 `json:"output"`      // completion tokens, reasoning included
	CacheRead  int64 `json:"cache_read"`  // of Input, read from the provider's cache
	CacheWrite int64 `json:"cache_write"` // of Input, written to the provider's cache
	Reasoning  int64 `json:"reasoning"`   // of Output, spent on reasoning
	Cost       Cost  `json:"cost"`
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Calls:      u.Calls + v.Calls,
		Unreported: u.Unreported + v.Unreported,
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
		Cost:       u.Cost.Add(v.Cost),
	}
}

// Total returns input and output tokens together.
func (u Usage) Total() int64 { return u.Input + u.Output }

// Cost is an amount of money of which a part may be unknown. The zero Cost is
// nothing, known.
type Cost struct {
	Nano     int64 `json:"nano_usd"` // the known part, in billionths of a US dollar
	Unpriced int64 `json:"unpriced"` // model calls whose price is not known
}

// Add returns the sum; what is unknown in either stays unknown.
func (c Cost) Add(d Cost) Cost { return Cost{c.Nano + d.Nano, c.Unpriced + d.Unpriced} }

// Known reports whether the price of every call is known.
func (c Cost) Known() bool { return c.Unpriced == 0 }

// String shows dollars, and "unknown" for what has no price.
func (c Cost) String() string {
	usd := fmt.Sprintf("$%.6f", float64(c.Nano)/1e9)
	switch {
	case c.Known():
		return usd
	case c.Nano == 0:
		return "unknown"
	}
	return fmt.Sprintf("%s + unknown for %d calls", usd, c.Unpriced)
}

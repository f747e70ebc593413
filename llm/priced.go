package llm

import (
	"context"
	"iter"
)

// Priced is a model whose usage has its cost, as far as Prices knows the model. Where its
// URL has no price, that of the model which answered counts, which [Fallback] names.
type Priced struct {
	Model  Model
	Prices *Prices
}

// String names the inner model.
func (p *Priced) String() string { return p.Model.String() }

// Stream asks the inner model and completes the usage that it reports.
func (p *Priced) Stream(ctx context.Context, req *Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		name, answered := p.String(), ""
		for d, err := range p.Model.Stream(ctx, req) {
			answered = either(answered, d.Model)
			if d.Usage != nil {
				u := *d.Usage
				u.Cost = p.Prices.CostOf(name, answered, u)
				d.Usage = &u
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

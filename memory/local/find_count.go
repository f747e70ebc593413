package local

import (
	"context"
	"slices"
)

// count is how many notes have a word.
type count struct {
	df int64
	of int64 // as many notes were there then
}

const (
	maxCounted = 10_000 // how many notes are counted before the rest is estimated
	minKept    = 256    // what is less is quickly counted again
	maxKept    = 20_000 // words
)

// countAll gives the words of a query with their weights, the rarest first, without those
// that no note has.
func (s *search) countAll(phrases []phrase) ([]term, error) {
	var terms []term
	for _, p := range phrases {
		if p.must {
			continue
		}
		c, err := s.index.count(s.ctx, s.tx, p.match(), s.state.notes)
		if err != nil {
			return nil, err
		}
		if c.df > 0 {
			terms = append(terms, term{p, c, float64(p.times) * idf(c.df, s.state.notes)})
		}
	}
	slices.SortStableFunc(terms, func(a, b term) int { return int(a.df - b.df) })
	return terms, nil
}

// count remembers words that many notes have: it needs them only to rank, and they are
// the expensive ones.
func (x *index) count(ctx context.Context, tx querier, match string, notes int64) (count, error) {
	x.mu.Lock()
	c, ok := x.counts[match]
	x.mu.Unlock()
	if ok && c.of*9 <= notes*10 && notes*9 <= c.of*10 {
		return c, nil
	}
	df, err := countNow(ctx, tx, match, notes)
	c = count{df, notes}
	if df < minKept || err != nil {
		return c, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.counts) >= maxKept {
		clear(x.counts)
	}
	x.counts[match] = c
	return c, nil
}

// countNow counts the newest notes that have a word, and takes them for a sample if there
// are very many.
func countNow(ctx context.Context, tx querier, match string, notes int64) (df int64, err error) {
	const query = `SELECT count(*), coalesce(min(rowid), 0), coalesce(max(rowid), 0), (SELECT coalesce(max(id), 0) FROM notes)
		FROM (SELECT rowid FROM lexicon WHERE lexicon MATCH ? ORDER BY rowid DESC LIMIT ?)`
	var oldest, newest, last int64
	if err := tx.QueryRowContext(ctx, query, match, maxCounted).Scan(&df, &oldest, &newest, &last); err != nil {
		return 0, err
	}
	if df == maxCounted {
		df = min(notes, df*last/(last-oldest+1))
	}
	return df, nil
}

package local

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/openrath-go/rath/memory/driver"
)

// meaning is what a query means, if that is known.
type meaning struct {
	vector []float32
	notice string // why it is not, though it was wanted
}

// meaning asks the provider for a query's vector. A provider that fails or hangs is no
// reason not to answer.
func (x *index) meaning(ctx context.Context, q driver.Query) (m meaning, err error) {
	if q.Match == driver.MatchWords || q.Text == "" {
		return m, nil
	}
	if x.embedder == nil {
		if q.Match == driver.MatchMeaning {
			return m, fmt.Errorf("%w: find by meaning without an embedding provider", driver.ErrUnsupported)
		}
		return m, nil
	}
	vector, err := x.queryVector(ctx, q.Text)
	if ctx.Err() != nil {
		return m, context.Cause(ctx)
	}
	if err != nil {
		return meaning{notice: "found by words alone: " + brief(err)}, nil
	}
	return meaning{vector: vector}, nil
}

// Reciprocal rank fusion, Cormack, Clarke and Buettcher (2009), with scores beside the
// ranks: ranks alone take the last of a hundred notes for nearly as good as the first, and
// a weak model for as good as the words. k and the weight were chosen on one half of the
// queries of bench/memory, with three models.
const (
	rrfK          = 10
	meaningWeight = 0.25
	fused         = 100 // of each list
)

// byMeaning finds by meaning, and by words too unless only meaning was asked for.
func (s *search) byMeaning(found *driver.Found, m meaning, phrases []phrase) ([]candidate, error) {
	if s.state.model != s.index.model {
		found.Match, found.Notice = "words", "found by words alone: another process has chosen another embedding model"
		return s.byWords(phrases, s.limit)
	}
	if err := s.index.matrix.sync(s.ctx, s.tx, s.state.model); err != nil {
		return nil, err
	}
	if err := s.missing(found); err != nil {
		return nil, err
	}
	byWords, err := s.byWords(phrases, max(s.limit, fused))
	if err != nil {
		return nil, err
	}
	near, err := s.near(m.vector, max(s.limit, fused))
	if err != nil {
		return nil, err
	}
	if musts(phrases) != "" {
		near = slices.DeleteFunc(near, func(c candidate) bool { return !slices.ContainsFunc(byWords, c.same) })
	}
	if s.query.Match == driver.MatchMeaning {
		found.Match = "meaning"
		return near, nil
	}
	found.Match = "hybrid"
	byWords = byWords[:min(len(byWords), max(s.limit, fused))]
	return fuse(byWords, near, s.coverage(byWords)), nil
}

func (c candidate) same(o candidate) bool { return c.id == o.id }

// missing notes that some vectors are still to be made.
func (s *search) missing(found *driver.Found) error {
	n, err := s.index.missing(s.ctx, s.tx, s.state.model)
	if err == nil && n > 0 {
		s.index.wake()
		found.Notice = fmt.Sprintf("%d of %d notes were found by words alone: their vectors are still to be made%s", n, s.state.notes, s.index.trouble())
	}
	return err
}

// coverage is how much of the query the best note has, from 0 to 1: a note of mean length
// with every word once has all. Where words find little of what was asked, meaning counts
// the more; it needs no knowledge of the model.
func (s *search) coverage(byWords []candidate) float64 {
	if len(byWords) == 0 {
		return 0
	}
	var all float64
	for _, t := range s.scorer.terms {
		all += t.weight
	}
	return min(1, byWords[0].words/all)
}

// fuse joins two lists by the ranks and the scores that notes have in them. The list by
// words counts as much as it covers the query.
func fuse(byWords, near []candidate, coverage float64) []candidate {
	all := make([]candidate, 0, len(byWords)+len(near))
	at := map[int64]int{}
	for i, c := range byWords {
		at[c.id] = len(all)
		c.score = coverage * reciprocal(byWords, i)
		all = append(all, c)
	}
	for i, c := range near {
		score := meaningWeight * reciprocal(near, i)
		if j, ok := at[c.id]; ok {
			all[j].meaning = c.meaning
			all[j].score += score
		} else {
			c.score = score
			all = append(all, c)
		}
	}
	return sorted(all)
}

// reciprocal is what a place in a list counts: its score is set between the best one and
// the last one, or none if the list has all that there is.
func reciprocal(list []candidate, i int) float64 {
	best, least := list[0].score, 0.0
	if len(list) >= fused {
		least = list[len(list)-1].score
	}
	if best == least {
		return 1 / float64(rrfK+i+1)
	}
	return (list[i].score - least) / (best - least) / float64(rrfK+i+1)
}

// near finds the nearest notes that pass the filter.
func (s *search) near(vector []float32, limit int) ([]candidate, error) {
	all := s.index.matrix.nearest(vector)
	if s.filter.narrow {
		if ids, ok, err := s.fewIDs(); err != nil {
			return nil, err
		} else if ok {
			all = slices.DeleteFunc(all, func(n near) bool { _, ok := slices.BinarySearch(ids, n.note); return !ok })
		}
	}
	var found []candidate
	for size := 4 * limit; len(all) > 0 && len(found) < limit; size *= 4 {
		first := nearestFirst(all, size)
		all = all[len(first):]
		more, err := s.pass(first)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	found = sorted(found)
	return found[:min(len(found), limit)], nil
}

// nearestFirst moves the n nearest to the front, in order, and returns them.
func nearestFirst(all []near, n int) []near {
	if n < len(all) {
		selectNearest(all, n)
	}
	first := all[:min(n, len(all))]
	slices.SortFunc(first, func(a, b near) int { return cmp.Or(cmp.Compare(b.cosine, a.cosine), cmp.Compare(b.note, a.note)) })
	return first
}

// selectNearest partitions as quicksort does, but only where the n-th is.
func selectNearest(all []near, n int) {
	for low, high := 0, len(all)-1; low < high; {
		pivot := all[low+(high-low)/2].cosine
		i, j := low, high
		for i <= j {
			for all[i].cosine > pivot {
				i++
			}
			for all[j].cosine < pivot {
				j--
			}
			if i <= j {
				all[i], all[j] = all[j], all[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n-1 <= j:
			high = j
		case n-1 >= i:
			low = i
		default:
			return
		}
	}
}

// pass gives those that pass the filter and whose vectors still hold.
func (s *search) pass(all []near) ([]candidate, error) {
	ids := make([]int64, len(all))
	by := map[int64]near{}
	for i, n := range all {
		ids[i], by[n.note] = n.note, n
	}
	query := `SELECT n.id, v.seq, n.importance, n.time, n.until FROM json_each(?) j CROSS JOIN notes n ON n.id = j.value
		CROSS JOIN vectors v ON v.note = n.id WHERE v.model = ? AND ` + s.filter.sql()
	rows, err := byID(s.ctx, s.tx, query, ids, append([]any{s.state.model}, s.filter.args...)...)
	var found []candidate
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var id, seq, said, until int64
		var importance sql.NullFloat64
		if err := rows.Scan(&id, &seq, &importance, &said, &until); err != nil || by[id].seq != seq {
			return err
		}
		n := driver.Note{Importance: importance.Float64, Time: fromNanos(said), Until: fromNanos(until)}
		cosine := float64(by[id].cosine)
		found = append(found, candidate{id: id, meaning: cosine, score: cosine * blend(s.query.Now, n)})
		return nil
	})
	return found, err
}

// fewIDs are the notes that pass the filter, in order, if they are few.
func (s *search) fewIDs() (ids []int64, ok bool, err error) {
	query := "SELECT n.id FROM notes n WHERE " + s.filter.sql() + " LIMIT ?"
	rows, err := s.tx.QueryContext(s.ctx, query, append(s.filter.args, fewNotes+1)...)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	})
	slices.Sort(ids)
	return ids, len(ids) <= fewNotes, err
}

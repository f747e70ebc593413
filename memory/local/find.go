package local

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

// search is one query in one view of the memory.
type search struct {
	ctx    context.Context
	tx     querier
	index  *index
	state  state
	query  driver.Query
	limit  int
	filter filter
	scorer *scorer
}

// candidate is a note that may be an answer.
type candidate struct {
	id      int64
	words   float64 // BM25
	meaning float64 // cosine
	score   float64 // by which it is ranked
}

const defaultLimit = 10

// find answers a query.
func (x *index) find(ctx context.Context, q driver.Query) (found driver.Found, err error) {
	m, err := x.meaning(ctx, q)
	if err != nil {
		return found, err
	}
	err = x.db.read(ctx, func(ctx context.Context, tx querier) error {
		s, err := x.newSearch(ctx, tx, q)
		if err != nil {
			return err
		}
		found, err = s.answer(m)
		return err
	})
	return found, err
}

func (x *index) newSearch(ctx context.Context, tx querier, q driver.Query) (s *search, err error) {
	s = &search{ctx: ctx, tx: tx, index: x, query: q, limit: q.Limit}
	if s.limit <= 0 {
		s.limit = defaultLimit
	}
	if s.filter, err = newFilter(q); err == nil {
		s.state, err = readState(ctx, tx)
	}
	return s, err
}

// answer finds by words, by meaning, or by both.
func (s *search) answer(m meaning) (found driver.Found, err error) {
	phrases := s.index.analyzer(s.state).parse(s.query.Text)
	var all []candidate
	switch {
	case len(phrases) == 0:
		found.Match = "newest"
		all, err = s.newest()
	case m.vector == nil:
		found.Match, found.Notice = "words", m.notice
		all, err = s.byWords(phrases, s.limit)
	default:
		all, err = s.byMeaning(&found, m, phrases)
	}
	if err == nil {
		found.Hits, err = s.hits(all[:min(len(all), s.limit)])
	}
	return found, err
}

// newest are the notes that were said last.
func (s *search) newest() ([]candidate, error) {
	query := "SELECT n.id FROM notes n WHERE " + s.filter.sql() + " ORDER BY n.time DESC, n.id DESC LIMIT ?"
	var all []candidate
	rows, err := s.tx.QueryContext(s.ctx, query, append(s.filter.args, s.limit)...)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var c candidate
		err := rows.Scan(&c.id)
		all = append(all, c)
		return err
	})
	return all, err
}

// How many notes are looked at.
const (
	fewNotes   = 1000 // are all scored, if the filter leaves no more
	pool       = 200  // of the best by the rarest words are scored with all words
	firstReach = 1000 // so many notes have the rarest words that are tried first
	lastReach  = 5000 // and at last
	newestPool = 2000 // are scored if even the rarest word has more
)

// byWords finds the best notes by BM25. Only notes with the rarest words are looked at,
// until no note without them could be better or there are too many: words that very many
// notes have cost time and say little.
func (s *search) byWords(phrases []phrase, limit int) ([]candidate, error) {
	terms, err := s.countAll(phrases)
	if err != nil || len(terms) == 0 {
		return nil, err
	}
	mean := float64(s.state.words) / float64(max(s.state.notes, 1))
	s.scorer = newScorer(s.index.analyzer(s.state), terms, mean)
	must := musts(phrases)
	if s.filter.narrow && must == "" {
		if all, ok, err := s.few(); ok || err != nil {
			return all, err
		}
	}
	var all []candidate
	for reach, tried := int64(firstReach), 0; reach <= lastReach; reach *= lastReach / firstReach {
		n := essential(terms, reach)
		if n == tried {
			continue
		}
		tried = n
		if all, err = s.ranked(must+anyOf(terms[:n]), "rank", pool); err != nil {
			return nil, err
		}
		if n == len(terms) || enough(all, limit, terms[n:]) {
			return all, nil
		}
	}
	if len(all) >= limit {
		return all, nil
	}
	return s.fill(all, must, terms)
}

// fill adds the newest notes that have common words only.
func (s *search) fill(all []candidate, must string, terms []term) ([]candidate, error) {
	n := essential(terms, lastReach)
	size := newestPool
	if n > 0 {
		size = pool
	}
	more, err := s.ranked(must+anyOf(terms[n:min(n+1, len(terms))]), "lexicon.rowid DESC", size)
	if err != nil {
		return nil, err
	}
	known := map[int64]bool{}
	for _, c := range all {
		known[c.id] = true
	}
	more = slices.DeleteFunc(more, func(c candidate) bool { return known[c.id] })
	return sorted(append(all, more...)), nil
}

// essential is how many of the rarest words are in no more than so many notes.
func essential(terms []term, reach int64) (n int) {
	for ; n < len(terms) && terms[n].df <= reach; n++ {
		reach -= terms[n].df
	}
	return n
}

// enough reports whether no note that has only the other words could be among the best.
func enough(all []candidate, limit int, others []term) bool {
	if len(all) < limit {
		return false
	}
	var bound float64
	for _, t := range others {
		bound += t.bound()
	}
	return all[limit-1].score >= bound
}

// musts are the phrases that notes must have, and the AND to what follows.
func musts(phrases []phrase) string {
	var all strings.Builder
	for _, p := range phrases {
		if p.must {
			all.WriteString(p.match() + " AND ")
		}
	}
	return all.String()
}

func anyOf(terms []term) string {
	all := make([]string, len(terms))
	for i, t := range terms {
		all[i] = t.match()
	}
	return "(" + strings.Join(all, " OR ") + ")"
}

// few scores all notes that pass the filter, if they are few.
func (s *search) few() ([]candidate, bool, error) {
	query := "SELECT count(*) FROM (SELECT 1 FROM notes n WHERE " + s.filter.sql() + " LIMIT ?)"
	var n int
	err := s.tx.QueryRowContext(s.ctx, query, append(s.filter.args, fewNotes+1)...).Scan(&n)
	if err != nil || n > fewNotes {
		return nil, false, err
	}
	rows, err := s.tx.QueryContext(s.ctx, "SELECT "+scoreColumns+" FROM notes n WHERE "+s.filter.sql(), s.filter.args...)
	all, err := s.scoreAll(rows, err)
	return all, true, err
}

// ranked scores the first notes that match and pass the filter.
func (s *search) ranked(match, order string, n int) ([]candidate, error) {
	query := "SELECT " + scoreColumns + ` FROM lexicon CROSS JOIN notes n ON n.id = lexicon.rowid
		WHERE lexicon MATCH ? AND ` + s.filter.sql() + " ORDER BY " + order + " LIMIT ?"
	args := append(append([]any{match}, s.filter.args...), n)
	rows, err := s.tx.QueryContext(s.ctx, query, args...)
	return s.scoreAll(rows, err)
}

const scoreColumns = "n.id, n.text, n.title, n.context, n.importance, n.time, n.until"

// scoreAll gives the notes that have a word of the query, best first.
func (s *search) scoreAll(rows *sql.Rows, err error) ([]candidate, error) {
	var all []candidate
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var c candidate
		var text, title, context sql.RawBytes
		var n driver.Note
		var importance sql.NullFloat64
		var said, until int64
		if err := rows.Scan(&c.id, &text, &title, &context, &importance, &said, &until); err != nil {
			return err
		}
		if c.words = s.scorer.score(string(title), string(context), string(text)); c.words > 0 {
			n.Importance, n.Time, n.Until = importance.Float64, fromNanos(said), fromNanos(until)
			c.score = c.words * blend(s.query.Now, n)
			all = append(all, c)
		}
		return nil
	})
	return sorted(all), err
}

// sorted has the best first, and of equal ones the newer.
func sorted(all []candidate) []candidate {
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.id, a.id))
	})
	return all
}

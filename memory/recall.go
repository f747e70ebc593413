package memory

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// DefaultLimit is how many notes Recall finds unless it is told otherwise.
const DefaultLimit = 4

// MaxLimit is how many it finds at most.
const MaxLimit = 1000

// RecallOptions narrow a search. The zero RecallOptions look everywhere.
type RecallOptions struct {
	Limit   int // 0: DefaultLimit
	Under   []URI
	Match   Matching
	Meta    map[string]string // all of these
	Trust   []Trust           // one of these
	Since   time.Time
	Until   time.Time
	Ended   bool // also notes that another took the place of
	Snippet int  // runes of each note; 0: 400
}

// Recall finds the notes that answer a query, best first. In the query, "words in quotes"
// follow each other, and a star at the end of a word stands for any ending.
func (s *Store) Recall(ctx context.Context, text string, o *RecallOptions) (Found, error) {
	q, err := query(text, o)
	if err != nil {
		return Found{}, s.fail(OpRecall, quoted(text), err)
	}
	op := operation{OpRecall, quoted(text), effect.ReadOnly}
	return do(ctx, s, op, q, func(ctx context.Context) (Found, error) {
		if err := s.canFind(q); err != nil {
			return Found{}, err
		}
		q.Now = time.Now().UTC() // not part of the call: who asks the same again asks later
		return s.d.Find(ctx, q)
	})
}

// canFind refuses what the driver cannot do. It is asked within the effect, so that a replay
// needs to know of no driver.
func (s *Store) canFind(q driver.Query) error {
	can := s.d.Capabilities()
	switch {
	case q.Match == MatchMeaning && !can.Semantic:
		return unsupported("find by meaning: no embedding provider is there")
	case !can.Filter && (len(q.Meta) > 0 || len(q.Trust) > 0 || !q.Since.IsZero() || !q.Until.IsZero() || q.Ended):
		return unsupported("filter by metadata, trust or time")
	}
	return nil
}

func query(text string, o *RecallOptions) (driver.Query, error) {
	if o == nil {
		o = &RecallOptions{}
	}
	if o.Limit < 0 || o.Limit > MaxLimit {
		return driver.Query{}, invalid("a limit of %d notes: it is at most %d", o.Limit, MaxLimit)
	}
	under, err := canonical(o.Under)
	return driver.Query{
		Text: text, Under: under, Limit: cmp.Or(o.Limit, DefaultLimit), Match: o.Match, Meta: o.Meta, Trust: o.Trust,
		Since: o.Since, Until: o.Until, Ended: o.Ended, Snippet: o.Snippet,
	}, err
}

// canonical checks URIs, which may have been made of any text.
func canonical(uris []URI) ([]URI, error) {
	var checked []URI
	for _, u := range uris {
		c, err := ParseURI(string(u))
		if err != nil {
			return nil, err
		}
		checked = append(checked, c)
	}
	return checked, nil
}

// quoted is a text for errors, not at length.
func quoted(text string) string { return fmt.Sprintf("%.60q", text) }

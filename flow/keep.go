package flow

import "github.com/openrath-go/rath/session"

// cutting says what a compression takes out of a transcript: what lies in front of a cut
// and need not stay.
type cutting struct {
	from    session.Transcript
	lead    int             // system chunks at the beginning, which stay
	at      int             // what follows stays
	removed []session.Chunk // of what lies between
	held    []session.Chunk // of what lies between, and stays
}

// cut finds what can be taken out so that the last turns stay. A turn is a user's message,
// or a model's reply with the results of its calls. No turns: everything goes.
func cut(t session.Transcript, turns int) cutting {
	c := cutting{from: t, at: t.Len()}
	if turns == 0 {
		c.part(nil)
		return c
	}
	for c.lead < t.Len() && t.At(c.lead).Kind() == session.KindSystem {
		c.lead++
	}
	c.at = max(c.lead, lastTurns(t, turns))
	c.part(unsettled(t, c.at))
	return c
}

// lastTurns is where the last so many turns begin.
func lastTurns(t session.Transcript, turns int) int {
	for i := t.Len() - 1; i >= 0; i-- {
		if k := t.At(i).Kind(); k == session.KindUser || k == session.KindAssistant {
			turns--
		}
		if turns == 0 {
			return i
		}
	}
	return 0
}

// part sorts what lies in front of the cut.
func (c *cutting) part(stay map[int]bool) {
	for i, chunk := range c.from.First(c.at).From(c.lead) {
		if stay[i] {
			c.held = append(c.held, chunk)
		} else {
			c.removed = append(c.removed, chunk)
		}
	}
}

// join is the transcript with the summary in the place of what was taken out.
func (c *cutting) join(summary session.Chunk) session.Transcript {
	out := c.from.First(c.lead).Append(summary).Append(c.held...)
	for _, chunk := range c.from.From(c.at) {
		out = out.Append(chunk)
	}
	return out
}

// kept counts the chunks that stay.
func (c *cutting) kept() int { return c.from.Len() - len(c.removed) }

// unsettled are the replies in front of a cut with a call that has no result there, or one
// behind the cut, and the results that they have. A result belongs to the latest call
// before it with the same id, for ids recur on some servers.
func unsettled(t session.Transcript, at int) map[int]bool {
	stay, latest := map[int]bool{}, map[string]int{}
	open, results := map[int]map[string]bool{}, map[int][]int{}
	for i, c := range t.All() {
		for call := range c.Calls() {
			latest[call.ID] = i
			if open[i] == nil {
				open[i] = map[string]bool{}
			}
			open[i][call.ID] = true
		}
		of, ok := latest[c.Answer().CallID]
		if !ok || c.Kind() != session.KindToolResult {
			continue
		}
		results[of] = append(results[of], i)
		if i < at {
			delete(open[of], c.Answer().CallID)
		} else {
			stay[of] = true
		}
	}
	for of, ids := range open {
		if len(ids) > 0 {
			stay[of] = true
		}
	}
	for of := range stay {
		for _, i := range results[of] {
			stay[i] = true
		}
	}
	return stay
}

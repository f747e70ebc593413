package evidence

import (
	"slices"

	"github.com/openrath-go/rath/session"
)

// describeAnswer tells where the answer is from.
func (d *deriver) describeAnswer() {
	rows := d.rows[d.answer]
	if len(rows) == 0 {
		return
	}
	last := rows[len(rows)-1].Chunk
	a := &Answer{Session: d.answer, Chunk: last, Kind: d.chunks[last].Kind(), Origin: d.origin(last)}
	h := d.head(a.Origin)
	a.Path, a.Run, a.Place = h.Lineage.Path, h.Lineage.Run, placeOf(d.head(d.answer))
	for _, m := range d.out.Models {
		if m.Session == a.Origin && m.Reply == last {
			a.Model, a.Effect = m.Model, m.Effect
		}
	}
	a.Lineage = d.lineage(a.Origin)
	if way := d.graph.Path(a.Origin, d.answer); len(way) > 0 {
		a.Lineage = append(a.Lineage, way[1:]...)
	}
	for _, h := range d.Records.Sessions {
		if d.inAnswer[h.ID] && h.Lineage.Op == session.OpMerge {
			a.Merged = append(a.Merged, h.ID)
		}
	}
	a.Tools = d.toolsUsed()
	d.out.Answer = a
}

// origin finds the session that the answer has a chunk from: of those that added it, the
// last one above the answer.
func (d *deriver) origin(chunk session.Digest) session.ID {
	for _, s := range slices.Backward(d.out.Sessions) {
		if s.Answer && slices.Contains(s.Added, chunk) {
			return s.ID
		}
	}
	return d.answer
}

// lineage follows the first parents up to where they begin.
func (d *deriver) lineage(id session.ID) []session.ID {
	line := []session.ID{id}
	for h := d.head(id); h != nil; h = d.head(line[len(line)-1]) {
		parents := d.parents(h)
		if len(parents) == 0 {
			break
		}
		line = append(line, parents[0])
	}
	slices.Reverse(line)
	return line
}

// toolsUsed counts the calls in the answer's session and in all that it comes from: what
// a compression removed was used all the same.
func (d *deriver) toolsUsed() (uses []ToolUse) {
	for _, c := range d.out.Tools {
		if !d.inAnswer[c.Session] {
			continue
		}
		uses = use(uses, c.Tool, c.Outcome == session.OK)
	}
	return uses
}

// use counts one more use, of which it is known whether it ended well.
func use(uses []ToolUse, name string, ok bool) []ToolUse {
	i := slices.IndexFunc(uses, func(u ToolUse) bool { return u.Tool == name })
	if i < 0 {
		i = len(uses)
		uses = append(uses, ToolUse{Tool: name})
	}
	uses[i].Calls++
	if !ok {
		uses[i].Failed++
	}
	return uses
}

func placeOf(h *session.Head) Place {
	p := h.Placement
	return Place{Backend: p.Backend, Level: p.Level, ID: p.ID, Dir: p.Spec.WorkingDir, Image: p.Spec.Image}
}

package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
)

// page is what the templates of both formats for people show.
type page struct {
	*Dossier
	x       *index
	Checked Checked
	shown   map[session.Digest]bool // chunks
	anchors map[string]bool         // of effects
	digits  int                     // how much of an id is shown
	calls   map[callKey]int
	prompts map[session.ID]string // the workflows whose prompts sessions are
}

func newPage(d *Dossier) (*page, error) {
	x, err := newIndex(&d.Records)
	if err != nil {
		return nil, err
	}
	p := &page{
		Dossier: d, x: x, shown: map[session.Digest]bool{}, anchors: map[string]bool{},
		calls: map[callKey]int{}, prompts: map[session.ID]string{},
	}
	p.Checked, _ = d.Records.check(d.Redactions) // the counts alone: Verify tells the rest
	p.setAnchors()
	p.setLinks()
	p.digits = p.distinctDigits()
	return p, nil
}

// distinctDigits returns how much of the ids tells all of them apart.
func (p *page) distinctDigits() int {
	var ids []string
	for _, h := range p.Records.Sessions {
		ids = append(ids, h.ID.String())
	}
	for _, r := range p.Records.Runs {
		ids = append(ids, r.ID.String())
	}
	slices.Sort(ids)
	digits := 8
	for i, id := range ids[min(1, len(ids)):] {
		n := 0
		for n < len(id)-1 && id[n] == ids[i][n] {
			n++
		}
		digits = max(digits, n+1)
	}
	return digits
}

// ShortID is the beginning of an id.
func (p *page) ShortID(id session.ID) string { return id.String()[:p.digits] }

// Title names the dossier.
func (p *page) Title() string {
	if r := p.Run(); r != nil {
		return "Run " + r.Name
	}
	return "Session " + p.ShortID(p.Subject.ID)
}

// Run returns the run that the dossier is about, nil if it is about a session.
func (p *page) Run() *Run {
	for i := range p.Findings.Runs {
		if r := &p.Findings.Runs[i]; r.ID == p.Subject.ID {
			return r
		}
	}
	return nil
}

// Head returns a session's head, nil if it is not here.
func (p *page) Head(id session.ID) *session.Head { return p.x.head(id) }

// HasRun reports whether the events of a run are here.
func (p *page) HasRun(id string) bool {
	return slices.ContainsFunc(p.Findings.Runs, func(r Run) bool { return r.ID.String() == id })
}

// Events counts the events of all runs.
func (p *page) Events() (n int) {
	for _, r := range p.Records.Runs {
		n += len(r.Events)
	}
	return n
}

// AnswerText is the answer, in full.
func (p *page) AnswerText() string {
	return visible(p.x.chunks[p.Findings.Answer.Chunk].Text())
}

// step is a session on the way to the answer.
type step struct {
	ID       session.ID
	Op, Path string
}

// mostSteps is how many of them are shown.
const mostSteps = 12

// Steps are the last sessions on the way to the answer.
func (p *page) Steps() (steps []step) {
	line := p.Findings.Answer.Lineage
	for _, id := range line[max(0, len(line)-mostSteps):] {
		h := p.Head(id)
		steps = append(steps, step{id, h.Lineage.Op.String(), h.Lineage.Path})
	}
	return steps
}

// Earlier counts the sessions that come before those.
func (p *page) Earlier() int { return max(0, len(p.Findings.Answer.Lineage)-mostSteps) }

// RemovedChunks counts what compressions took out.
func (p *page) RemovedChunks() (n int) {
	for _, r := range p.Findings.Removed {
		n += len(r.Removed)
	}
	return n
}

// MemoryUses counts the operations on memories that are told in detail.
func (p *page) MemoryUses() (uses []ToolUse) {
	for _, m := range p.Findings.Memory {
		if m.Store != "" {
			uses = use(uses, m.Name, m.Error == "" && !m.Open && !m.Cancelled)
		}
	}
	return uses
}

// ToldNotes counts the notes that agents were told, as their sessions have it.
func (p *page) ToldNotes() (n int) {
	for _, h := range p.Records.Sessions {
		for _, e := range h.Lineage.Extras {
			if e.Key == extraTold {
				n++
			}
		}
	}
	return n
}

// RedactedPlaces counts the places from which secrets were taken.
func (p *page) RedactedPlaces() (n int) {
	for _, r := range p.Redactions {
		n += r.Times
	}
	return n
}

// Graph draws the sessions.
func (p *page) Graph() (string, error) {
	var b bytes.Buffer
	opts := &graph.Options{Short: p.ShortID}
	if a := p.Findings.Answer; a != nil {
		opts.Mark = a.Session
	}
	err := p.x.graph.WriteSVG(&b, opts)
	return b.String(), err
}

// GraphText draws the sessions in characters.
func (p *page) GraphText() (string, error) {
	var b bytes.Buffer
	opts := &graph.Options{Short: p.ShortID}
	if a := p.Findings.Answer; a != nil {
		opts.Mark = a.Session
	}
	err := p.x.graph.WriteText(&b, opts)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// RunID is the id of a run by its name in lineages.
func (p *page) RunID(name string) session.ID {
	id, _ := session.ParseID(name) // another program's is none
	return id
}

// Anchor is where an effect is shown: with the others of its kind, else its event.
func (p *page) Anchor(run session.ID, n int64) string {
	if p.anchors[effectAnchor(run, n)] {
		return effectAnchor(run, n)
	}
	return fmt.Sprintf("v-%s-%d", run, n)
}

func (p *page) setAnchors() {
	f := &p.Findings
	for _, c := range f.Tools {
		p.anchors[effectAnchor(c.Run, c.Effect)] = true
	}
	for _, m := range f.Models {
		p.anchors[effectAnchor(m.Run, m.Effect)] = true
	}
	for _, q := range f.Questions {
		p.anchors[effectAnchor(q.Run, q.Effect)] = true
	}
	for _, m := range f.Memory {
		p.anchors[effectAnchor(m.Run, m.Effect.Effect)] = true
	}
	for _, e := range f.Other {
		p.anchors[effectAnchor(e.Run, e.Effect)] = true
	}
}

func (p *page) setLinks() {
	for i, c := range slices.Backward(p.Findings.Tools) { // of those alike, the first
		p.calls[callKey{c.Asked, c.CallID}] = i
		p.calls[callKey{c.Result, ""}] = i
	}
	for _, h := range p.Records.Sessions {
		for _, parent := range h.Lineage.Parents {
			if parent.Role == session.RolePrompt {
				p.prompts[parent.ID] = h.Lineage.Path
			}
		}
	}
}

// EventsOf are the events of a run.
func (p *page) EventsOf(run session.ID) []Event {
	for _, r := range p.Records.Runs {
		if r.ID == run {
			return r.Events
		}
	}
	return nil
}

// PromptOf names the workflow whose prompt a session is, if it is one.
func (p *page) PromptOf(id session.ID) string { return p.prompts[id] }

// Place is where a session's tools ran, nil if nowhere.
func (p *page) Place(id session.ID) *Place {
	at := placeOf(p.Head(id))
	if at == (Place{}) {
		return nil
	}
	return &at
}

// Nearest is the parent that a session shares most with.
func (p *page) Nearest(id session.ID) (nearest session.ID) {
	most := 0
	for _, parent := range p.x.parents(p.Head(id)) {
		if n := p.x.shared(id, parent); n > most {
			nearest, most = parent, n
		}
	}
	return nearest
}

// shownChunk is a chunk to be shown.
type shownChunk struct {
	Digest   session.Digest
	Kind     session.Kind
	Answer   session.Answer
	Parts    []shownPart
	Calls    []session.Call
	Redacted bool
	Again    bool // it was shown already
}

// shownPart is a part of a chunk to be shown.
type shownPart struct {
	session.Part
	Text  string
	Image bool // it can be shown as one
}

// Peek returns a chunk with the beginnings of its texts.
func (p *page) Peek(d session.Digest) shownChunk {
	c := p.whole(d)
	for i := range c.Parts {
		c.Parts[i].Text = clip(c.Parts[i].Text)
	}
	return c
}

// First returns a whole chunk, and marks it as shown.
func (p *page) First(d session.Digest) shownChunk {
	c := p.whole(d)
	c.Again = p.shown[d]
	p.shown[d] = true
	return c
}

func (p *page) whole(d session.Digest) shownChunk {
	c := p.x.chunks[d]
	out := shownChunk{Digest: d, Kind: c.Kind(), Answer: c.Answer(), Calls: slices.Collect(c.Calls())}
	out.Redacted = p.x.contents[d].Redacted != (session.Digest{})
	for part := range c.Parts() {
		image := slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, part.MIME) && part.Data != ""
		out.Parts = append(out.Parts, shownPart{part, visible(part.Text), image})
	}
	return out
}

// ResultText is the beginning of what a tool gave.
func (p *page) ResultText(d session.Digest) string { return clip(visible(p.x.chunks[d].Text())) }

// CallOf finds a call of a chunk among the tool calls, -1 if it is not there.
func (p *page) CallOf(asked session.Digest, id string) int { return p.call(asked, id) }

// CallAnswered finds the call that a chunk is the result of, -1 if it is not there.
func (p *page) CallAnswered(result session.Digest) int { return p.call(result, "") }

func (p *page) call(d session.Digest, id string) int {
	if i, ok := p.calls[callKey{d, id}]; ok {
		return i
	}
	return -1
}

// callKey is the chunk and the id of a call, or the chunk of a result.
type callKey struct {
	chunk session.Digest
	id    string
}

// Value is the value of an effect, whole. References are known by their canonical form,
// which a file that was laid out to be read does not have.
func (p *page) Value(raw json.RawMessage) string {
	raw = canonical(raw)
	if whole, err := p.x.unpack(raw); err == nil {
		raw = whole
	}
	return pretty(string(raw))
}

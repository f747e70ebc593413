package evidence

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// index finds things in records.
type index struct {
	*Records
	graph    *graph.Graph
	contents map[session.Digest]*Content
	chunks   map[session.Digest]session.Chunk
	links    map[session.Digest]*Link
	rows     map[session.ID][]*Link // transcripts
	effects  map[session.ID][]*store.Effect
}

func newIndex(r *Records) (*index, error) {
	x := &index{
		Records: r, contents: map[session.Digest]*Content{}, chunks: map[session.Digest]session.Chunk{},
		links: map[session.Digest]*Link{}, rows: map[session.ID][]*Link{}, effects: map[session.ID][]*store.Effect{},
	}
	for i := range r.Contents {
		x.contents[r.Contents[i].Digest] = &r.Contents[i]
	}
	var err error
	if x.graph, err = graph.New(r.heads()); err != nil {
		return nil, err
	}
	if err := x.graph.Check(); err != nil {
		return nil, err
	}
	if err := x.readTranscripts(); err != nil {
		return nil, err
	}
	for i := range r.Runs {
		run := &r.Runs[i]
		if x.effects[run.ID], err = store.Effects(run.events()); err != nil {
			return nil, fmt.Errorf("run %s: %w", run.ID, err)
		}
	}
	return x, nil
}

// extraFile is what importers keep of a file that a session cannot say. It is not for people.
const extraFile = "openrath.file"

// heads are the sessions with the notes that are for people.
func (r *Records) heads() iter.Seq2[session.Head, error] {
	return func(yield func(session.Head, error) bool) {
		for _, h := range r.Sessions {
			h.Lineage.Extras = slices.DeleteFunc(slices.Clone(h.Lineage.Extras), func(e session.Extra) bool { return e.Key == extraFile })
			if !yield(h, nil) {
				return
			}
		}
	}
}

func (r *RunRecord) events() iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for _, e := range r.Events {
			if !yield(e.Event, nil) {
				return
			}
		}
	}
}

// readTranscripts reads every chunk, and follows the links of every session.
func (x *index) readTranscripts() error {
	for i := range x.Links {
		l := &x.Links[i]
		x.links[l.Digest] = l
		if _, ok := x.chunks[l.Chunk]; ok {
			continue
		}
		c := x.contents[l.Chunk]
		if c == nil {
			return fmt.Errorf("chunk %s of transcript %s is not there", l.Chunk, l.Digest)
		}
		var chunk session.Chunk
		if err := json.Unmarshal(c.Value, &chunk); err != nil {
			return fmt.Errorf("content %s: %w", c.Digest, err)
		}
		x.chunks[l.Chunk] = chunk
	}
	for i := range x.Sessions {
		if err := x.readTranscript(&x.Sessions[i]); err != nil {
			return err
		}
	}
	return nil
}

func (x *index) readTranscript(h *session.Head) error {
	var rows []*Link
	most := min(h.Len, len(x.Links))
	for at := h.Digest; at != (session.Digest{}) && len(rows) <= most; {
		l := x.links[at]
		if l == nil {
			return fmt.Errorf("session %s: link %s of its transcript is not there", h.ID, at)
		}
		rows = append(rows, l)
		at = l.Before
	}
	if len(rows) != h.Len {
		return fmt.Errorf("session %s has %d chunks, and its transcript another number", h.ID, h.Len)
	}
	slices.Reverse(rows)
	x.rows[h.ID] = rows
	return nil
}

// unpack puts the contents back into the value of an effect.
func (x *index) unpack(v json.RawMessage) (json.RawMessage, error) {
	if len(v) == 0 {
		return v, nil
	}
	return store.Unpack(v, func(d session.Digest) ([]byte, error) {
		if c := x.contents[d]; c != nil {
			return c.Value, nil
		}
		return nil, fmt.Errorf("content %s is not there", d)
	})
}

// read decodes the value of an effect, as far as it goes: nobody checks what programs
// record under kinds and names of their own.
func (x *index) read(v json.RawMessage, into any) bool {
	whole, err := x.unpack(v)
	return err == nil && len(whole) > 0 && json.Unmarshal(whole, into) == nil
}

// shared returns how many first chunks two sessions have in common. Links make that the
// search for the last place where they have the same.
func (x *index) shared(a, b session.ID) int {
	p, q := x.rows[a], x.rows[b]
	n := min(len(p), len(q))
	low := 0
	for low < n {
		mid := (low + n + 1) / 2
		if p[mid-1].Digest == q[mid-1].Digest {
			low = mid
		} else {
			n = mid - 1
		}
	}
	return low
}

// parents returns the parents of a session that are there and gave it content.
func (x *index) parents(h *session.Head) (ids []session.ID) {
	for _, p := range h.Lineage.Parents {
		if _, ok := x.rows[p.ID]; ok && p.Role != session.RolePrompt {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

func (x *index) head(id session.ID) *session.Head {
	h, ok := x.graph.Head(id)
	if !ok {
		return nil
	}
	return &h
}

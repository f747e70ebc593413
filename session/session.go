package session

import (
	"iter"
	"slices"
	"time"

	"github.com/openrath-go/rath/sandbox"
)

// Session is an immutable value: chunks, placement, lineage and usage. Copy it and
// share it freely; the zero Session is the empty session.
type Session struct{ n *node }

type node struct {
	id      ID
	content Transcript
	parents []edge
	parent  [1]edge // what parents points to when there is one, as there mostly is
	place   *place
	usage   *Usage  // nil: none
	origin  *origin // nil: nothing known
	mint    Mint    // nil: NewID
	nanos   int64   // when it was made, since 1970
	depth   uint32  // longest way to a leaf
	op      Op
	absent  bool // known by id alone
}

type edge struct {
	node *node
	role Role
}

type place struct {
	sandbox  *sandbox.Sandbox // nil when the placement is only remembered
	recorded sandbox.Placement
}

type origin struct {
	path, run string
	extras    []Extra
}

var empty node

func (s Session) get() *node {
	if s.n == nil {
		return &empty
	}
	return s.n
}

func (n *node) time() time.Time {
	if n.nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, n.nanos).UTC()
}

// New makes a session of the chunks, a leaf of the graph.
func New(chunks ...Chunk) Session {
	return Session{}.child(OpLeaf, Transcript{}.Append(chunks...))
}

// FromUser makes a session of one user message.
func FromUser(text string) Session { return New(User(Text(text))) }

// FromSystem makes a session of one instruction.
func FromSystem(text string) Session { return New(System(Text(text))) }

// Reserve mints the identity of a session that is still to be derived from s: who
// makes a session step by step knows its name from the start.
func (s Session) Reserve() (ID, time.Time) {
	if mint := s.get().mint; mint != nil {
		return mint()
	}
	return NewID()
}

// child makes a node that takes the place and the mint of s, and no parents yet.
func (s Session) child(op Op, content Transcript) Session {
	id, at := s.Reserve()
	return s.identified(id, at, op, content)
}

func (s Session) identified(id ID, at time.Time, op Op, content Transcript) Session {
	from := s.get()
	return Session{&node{id: id, nanos: at.UnixNano(), op: op, content: content, place: from.place, mint: from.mint}}
}

// link adds a parent. It is called only while the node is being made.
func (n *node) link(p *node, role Role) {
	if p.id.IsZero() || slices.ContainsFunc(n.parents, func(e edge) bool { return e.node.id == p.id }) {
		return
	}
	if n.parents == nil {
		n.parents = n.parent[:0]
	}
	n.parents = append(n.parents, edge{p, role})
	n.depth = max(n.depth, p.depth+1)
}

// Step says how one session becomes the next.
type Step struct {
	Op      Op // OpUnknown: OpForward
	ID      ID // reserved with [Session.Reserve]; zero: minted
	Time    time.Time
	Usage   Usage
	Path    string // the workflow that made the step
	Run     string // the run it belongs to
	Parents []Link // beside the input
	Extras  []Extra
	Marks   []Mark // of the workspace, on the way
}

// Link names a session as a parent.
type Link struct {
	Session Session
	Role    Role
}

// Derive returns the session that a workflow made out of s: the given content, one
// new node in the graph, s its parent. The placement is kept.
func (s Session) Derive(content Transcript, step Step) Session {
	if step.Op == OpUnknown {
		step.Op = OpForward
	}
	id, at := step.ID, step.Time
	if id.IsZero() {
		id, at = s.Reserve()
	}
	out := s.identified(id, at, step.Op, content)
	out.n.link(s.get(), RoleInput)
	for _, p := range step.Parents {
		out.n.link(p.Session.get(), p.Role)
	}
	if step.Usage != (Usage{}) {
		out.n.usage = &step.Usage
	}
	if step.Path != "" || step.Run != "" || len(step.Extras) > 0 || len(step.Marks) > 0 {
		out.n.origin = &origin{step.Path, step.Run, slices.Clone(step.Extras)}
	}
	for _, m := range step.Marks {
		out.n.origin.extras = append(out.n.origin.extras, m.Extra())
	}
	return out
}

// Append returns the session with the chunks added: a new node, s its parent.
func (s Session) Append(chunks ...Chunk) Session {
	return s.Derive(s.get().content.Append(chunks...), Step{Op: OpAppend})
}

// To places the session on a sandbox, as tensor.to(device) does: a new handle on the
// same content, id and lineage. Descendants run their tools there. nil takes the
// placement away. The sandbox stays the caller's to close.
func (s Session) To(sb *sandbox.Sandbox) Session {
	n := *s.get()
	if n.place = nil; sb != nil {
		n.place = &place{sandbox: sb}
	}
	n.rehang()
	return Session{&n}
}

// WithMint returns a handle on the same session whose descendants take their ids and
// times from m. nil restores [NewID].
func (s Session) WithMint(m Mint) Session {
	n := *s.get()
	n.mint = m
	n.rehang()
	return Session{&n}
}

// rehang points a copied node's parents at its own array again, so that the original
// can be collected.
func (n *node) rehang() {
	if len(n.parents) == 1 {
		n.parents = n.parent[:]
	}
}

// ID names the session; the empty session's is zero.
func (s Session) ID() ID { return s.get().id }

// Transcript returns the content.
func (s Session) Transcript() Transcript { return s.get().content }

// Len returns the number of chunks.
func (s Session) Len() int { return s.get().content.Len() }

// At returns chunk i and panics if there is none.
func (s Session) At(i int) Chunk { return s.get().content.At(i) }

// All yields the chunks in order with their indices.
func (s Session) All() iter.Seq2[int, Chunk] { return s.get().content.All() }

// Text returns the text of the last chunk: after a Forward, the answer.
func (s Session) Text() string { return s.get().content.Last().Text() }

// Digest identifies the content, and only that: see [Transcript.Digest].
func (s Session) Digest() Digest { return s.get().content.Digest() }

// Usage returns what making this session cost, ancestors left out.
func (s Session) Usage() Usage {
	if u := s.get().usage; u != nil {
		return *u
	}
	return Usage{}
}

// Total returns the usage of this session and of every ancestor in memory, each
// counted once.
func (s Session) Total() Usage {
	total := s.Usage()
	for a := range s.Ancestors() {
		total = total.Add(a.Usage())
	}
	return total
}

// Sandbox returns where the session's tools run, nil if it is not placed or its
// placement is only remembered from a file.
func (s Session) Sandbox() *sandbox.Sandbox {
	if p := s.get().place; p != nil {
		return p.sandbox
	}
	return nil
}

// Placement describes where the session's tools run, or ran; its zero value is
// nowhere.
func (s Session) Placement() sandbox.Placement {
	switch p := s.get().place; {
	case p == nil:
		return sandbox.Placement{}
	case p.sandbox != nil:
		return p.sandbox.Placement()
	default:
		return p.recorded
	}
}

package evidence

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// MemoryCall is an operation on a memory. What follows its Effect is there from version 3
// on, where the effect is one of package memory.
type MemoryCall struct {
	Effect
	Session session.ID   `json:"session,omitzero"` // that its workflow had begun
	Call    int64        `json:"call,omitempty"`   // the effect of the tool call that it was part of
	Store   string       `json:"store,omitempty"`
	On      string       `json:"on,omitempty"`     // the query, the URI, the name of a file, the session
	To      string       `json:"to,omitempty"`     // where something was moved or added
	Hits    []MemoryHit  `json:"hits,omitempty"`   // the best first
	Match   string       `json:"match,omitempty"`  // how they were found
	Notice  string       `json:"notice,omitempty"` // why they are less than what was asked for
	Notes   []MemoryNote `json:"notes,omitempty"`  // that were read or kept; of a write that failed, what was to be kept
	Text    string       `json:"text,omitempty"`   // that was read
	State   string       `json:"state,omitempty"`  // how far a commit had come
	Kinds   []string     `json:"kinds,omitempty"`  // of the error
}

// MemoryNote is a note as the operation saw it.
type MemoryNote struct {
	URI        string            `json:"uri"`
	Title      string            `json:"title,omitempty"`
	Context    string            `json:"context,omitempty"` // the headings above it
	Text       string            `json:"text,omitempty"`
	About      string            `json:"about,omitempty"`
	Importance float64           `json:"importance,omitempty"`
	Trust      string            `json:"trust,omitempty"` // who said it: user, agent, tool, resource; empty: not told
	Meta       map[string]string `json:"meta,omitempty"`
	Source     MemorySource      `json:"source,omitzero"`
	Time       time.Time         `json:"time,omitzero"`  // when it was last said
	Until      time.Time         `json:"until,omitzero"` // when another took its place
	Replaces   string            `json:"replaces,omitempty"`
}

// MemorySource is where a note was heard.
type MemorySource struct {
	Session session.ID `json:"session,omitzero"`
	Chunk   int        `json:"chunk,omitempty"` // from 1
	Origin  string     `json:"origin,omitempty"`
	SHA256  string     `json:"sha256,omitempty"`
}

// MemoryHit is a note that was found. What was found is its snippet, not its text.
type MemoryHit struct {
	MemoryNote
	Snippet string  `json:"snippet"`
	Whole   bool    `json:"whole,omitempty"` // the snippet is all of the text
	Score   float64 `json:"score"`
	Words   float64 `json:"words,omitempty"`   // the part of the words; 0: it was not found by them
	Meaning float64 `json:"meaning,omitempty"` // the part of the meaning; 0: it was not found by it
	Told    bool    `json:"told,omitempty"`    // the session says that its agent was told the note
}

// The operations whose results have notes.
const (
	opRecall = "recall"
	opRead   = "read"
	opWrite  = "write"
	opCommit = "commit"
)

// What is recorded of an operation: its input and its value.
type (
	recordedOperation struct {
		Store string          `json:"store"`
		In    json.RawMessage `json:"in"`
	}
	recordedOutcome struct {
		Out   json.RawMessage `json:"out"`
		Error *struct {
			Text  string   `json:"text"`
			Kinds []string `json:"kinds"`
		} `json:"error"`
	}
	recordedInput struct {
		Text    string     `json:"text"`
		URI     string     `json:"uri"`
		From    string     `json:"from"`
		To      string     `json:"to"`
		Name    string     `json:"name"`
		Session string     `json:"session"`
		Note    MemoryNote `json:"note"`
	}
	recordedFound struct {
		Hits   []MemoryHit `json:"hits"`
		Match  string      `json:"match"`
		Notice string      `json:"notice"`
	}
	recordedCommit struct {
		Archive struct {
			State string `json:"state"`
		} `json:"archive"`
		Notes []MemoryNote `json:"notes"`
	}
)

// extraTold names a note that an agent was told, in the lineage of the session it made.
const extraTold = "memory.told"

// memory lists an operation. What package memory would not record so stays an effect like any.
func (d *deriver) memory(run session.ID, e *store.Effect) {
	plain := MemoryCall{Effect: plainEffect(run, e)}
	if m, ok := d.operation(plain, e); ok {
		d.told(&m)
		d.out.Memory = append(d.out.Memory, m)
		return
	}
	d.out.Memory = append(d.out.Memory, plain)
}

// operation reads what an operation was asked for and what it gave.
func (d *deriver) operation(m MemoryCall, e *store.Effect) (MemoryCall, bool) {
	var op recordedOperation
	if d.version < versionMemory || !d.read(e.Input, &op) || op.Store == "" {
		return m, false
	}
	m.Store = op.Store
	m.Session, m.Call = d.around(e.Path)
	var in recordedInput
	if json.Unmarshal(op.In, &m.On) != nil { // a URI or a file alone, or more than that
		if json.Unmarshal(op.In, &in) != nil {
			return m, false
		}
		m.On, m.To = cmp.Or(in.Text, in.URI, in.From, in.Name, in.Note.URI, in.Session), in.To
	}
	if m.Name == opWrite {
		m.Notes = []MemoryNote{in.Note}
	}
	if !e.Done || m.Error != "" {
		return m, true
	}
	var got recordedOutcome
	if !d.read(e.Result.Value, &got) {
		return m, false
	}
	if got.Error != nil {
		m.Error, m.Kinds = got.Error.Text, got.Error.Kinds
		d.failed[e] = m.Error
		return m, true
	}
	return m, m.gave(got.Out)
}

// gave notes what an operation gave, if it can be read. Of those without notes, the value tells.
func (m *MemoryCall) gave(out json.RawMessage) bool {
	switch m.Name {
	case opRecall:
		var found recordedFound
		err := json.Unmarshal(out, &found)
		m.Hits, m.Match, m.Notice = found.Hits, found.Match, found.Notice
		return err == nil
	case opRead, opWrite:
		var n MemoryNote
		if json.Unmarshal(out, &m.Text) == nil {
			return m.Name == opRead
		}
		err := json.Unmarshal(out, &n)
		m.Notes, m.On = []MemoryNote{n}, cmp.Or(n.URI, m.On)
		return err == nil
	case opCommit:
		var c recordedCommit
		err := json.Unmarshal(out, &c)
		m.State, m.Notes = c.Archive.State, c.Notes
		return err == nil
	}
	return true
}

// told marks the hits that the session's lineage names. What tools find is in their results.
func (d *deriver) told(m *MemoryCall) {
	if m.Session.IsZero() || m.Call != 0 {
		return
	}
	extras := d.head(m.Session).Lineage.Extras
	for i := range m.Hits {
		m.Hits[i].Told = slices.Contains(extras, session.Extra{Key: extraTold, Value: m.Hits[i].URI})
	}
}

// scope is what was begun last under a path.
type scope struct {
	session session.ID
	call    int64 // the effect of a tool call
}

// enter notes that a tool call begins, or a session. A session may be named before its
// workflow begins, and elsewhere: its path tells where it was made.
func (d *deriver) enter(run session.ID, e *store.Effect) {
	if e.Kind == kindTool {
		if at, _ := d.placeOfCall(run, e); at.path != e.Path { // it has a scope of its own
			s := d.scopes[e.Path]
			s.call = e.ID
			d.scopes[e.Path] = s
		}
		return
	}
	var minted struct {
		ID session.ID `json:"id"`
	}
	if !d.read(e.Result.Value, &minted) {
		return
	}
	path, made := e.Path, session.ID{} // one that was not kept ends the one before all the same
	if h := d.head(minted.ID); h != nil && d.begins(h.Lineage.Op) && h.Lineage.Run == run.String() {
		path, made = h.Lineage.Path, h.ID
	} else if h != nil {
		return
	}
	s := d.scopes[path]
	s.session = made
	d.scopes[path] = s
}

// begins reports whether an operation is that of a workflow's own session.
func (d *deriver) begins(op session.Op) bool {
	return op == session.OpForward || op == session.OpCompress && d.version >= versionChoices
}

// around finds the session and the tool call that a path is in, the nearest of each.
func (d *deriver) around(path string) (in session.ID, call int64) {
	for {
		s := d.scopes[path]
		if in.IsZero() {
			in = s.session
		}
		call = cmp.Or(call, s.call)
		if path == "" {
			return in, call
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
}

package session

import (
	"iter"
	"sync/atomic"
)

// Transcript is an immutable, ordered list of chunks. Appending shares everything
// with the original; the zero Transcript is empty. Safe for concurrent use.
//
// It is a linked list from the last chunk back, with jump pointers (Myers, "An
// applicative random-access stack", 1983): append and fork in O(1), the n-th chunk
// and the common prefix of two transcripts in O(log n).
type Transcript struct{ last *entry }

type entry struct {
	chunk      Chunk
	prev, jump *entry
	len        int // chunks up to and including this one
	digest     atomic.Pointer[Digest]
}

// root ends every list; it is its own predecessor, so that walks need no nil checks.
var root = func() *entry {
	e := &entry{}
	e.prev, e.jump = e, e
	e.digest.Store(&Digest{})
	return e
}()

func (t Transcript) end() *entry {
	if t.last == nil {
		return root
	}
	return t.last
}

// Append returns the transcript with the chunks added. It costs the same whatever
// the length.
func (t Transcript) Append(chunks ...Chunk) Transcript {
	e := t.end()
	for _, c := range chunks {
		e = e.push(c)
	}
	return Transcript{e}
}

func (e *entry) push(c Chunk) *entry {
	jump := e
	if e.len-e.jump.len == e.jump.len-e.jump.jump.len {
		jump = e.jump.jump
	}
	return &entry{chunk: c, prev: e, jump: jump, len: e.len + 1}
}

// back returns the entry that ends the first n chunks.
func (e *entry) back(n int) *entry {
	for e.len > n {
		if e.jump.len >= n {
			e = e.jump
		} else {
			e = e.prev
		}
	}
	return e
}

// Len returns the number of chunks.
func (t Transcript) Len() int { return t.end().len }

// At returns chunk i and panics if there is none, as indexing a slice does.
func (t Transcript) At(i int) Chunk {
	if i < 0 || i >= t.Len() {
		panic("session: chunk index out of range")
	}
	return t.end().back(i + 1).chunk
}

// Last returns the last chunk, the zero Chunk if there is none.
func (t Transcript) Last() Chunk { return t.end().chunk }

// First returns the first n chunks, all of them if there are fewer.
func (t Transcript) First(n int) Transcript { return Transcript{t.end().back(max(n, 0))} }

// All yields the chunks in order with their indices.
func (t Transcript) All() iter.Seq2[int, Chunk] { return t.From(0) }

// From yields the chunks from index i on, at a cost that depends on their number
// alone.
func (t Transcript) From(i int) iter.Seq2[int, Chunk] {
	return func(yield func(int, Chunk) bool) {
		last := t.end()
		var window [256]*entry // the list runs backward: turn it round piece by piece
		for i := max(i, 0); i < last.len; {
			n := min(len(window), last.len-i)
			e := last.back(i + n)
			for j := n - 1; j >= 0; j-- {
				window[j], e = e, e.prev
			}
			for _, e := range window[:n] {
				if !yield(i, e.chunk) {
					return
				}
				i++
			}
		}
	}
}

// Equal reports whether both hold the same chunks. Shared storage is not compared.
func (t Transcript) Equal(u Transcript) bool {
	return t.Len() == u.Len() && commonPrefix(t, u) == t.Len()
}

// OpenCalls returns the calls of the last assistant chunk that have no result yet.
func (t Transcript) OpenCalls() []Call {
	answered := map[string]bool{}
	for e := t.end(); e != root; e = e.prev {
		switch e.chunk.Kind() {
		case KindToolResult:
			answered[e.chunk.Answer().CallID] = true
		case KindAssistant:
			var open []Call
			for call := range e.chunk.Calls() {
				if !answered[call.ID] {
					open = append(open, call)
				}
			}
			return open
		}
	}
	return nil
}

// cuts reports whether some chunk from n on answers a call made before n. A result
// belongs to the latest call before it with the same id: ids recur on some servers.
func (t Transcript) cuts(n int) bool {
	called, orphans := map[string]bool{}, map[string]bool{}
	for _, c := range t.From(n) {
		for call := range c.Calls() {
			called[call.ID] = true
		}
		if id := c.Answer().CallID; c.Kind() == KindToolResult && !called[id] {
			orphans[id] = true
		}
	}
	if len(orphans) == 0 {
		return false
	}
	for e := t.end().back(n); e != root; e = e.prev {
		for call := range e.chunk.Calls() {
			if orphans[call.ID] {
				return true
			}
		}
	}
	return false
}

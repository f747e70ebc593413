package session

// Difference says where two transcripts part.
type Difference struct {
	Common       int // chunks of the shared prefix
	OnlyA, OnlyB []Chunk
}

// Diff compares the chunks of two sessions. It costs in proportion to what differs
// where they share storage, as branches of one session do.
func Diff(a, b Session) Difference {
	ta, tb := a.get().content, b.get().content
	n := commonPrefix(ta, tb)
	return Difference{Common: n, OnlyA: rest(ta, n), OnlyB: rest(tb, n)}
}

func rest(t Transcript, n int) []Chunk {
	out := make([]Chunk, 0, t.Len()-n)
	for _, c := range t.From(n) {
		out = append(out, c)
	}
	return out
}

// commonPrefix finds the storage that both share by their jump pointers, and compares
// content only past it.
func commonPrefix(t, u Transcript) int {
	n := min(t.Len(), u.Len())
	a, b := t.end().back(n), u.end().back(n)
	for a != b {
		if a.jump != b.jump {
			a, b = a.jump, b.jump
		} else {
			a, b = a.prev, b.prev
		}
	}
	return equalFrom(t, u, a.len, n)
}

// equalFrom returns the end of the run of equal chunks that begins at index i.
func equalFrom(t, u Transcript, i, n int) int {
	if i == n || !t.At(i).Equal(u.At(i)) { // nearly always: branches part where their storage does
		return i
	}
	others := rest(u.First(n), i)
	for j, c := range t.First(n).From(i) {
		if !c.Equal(others[j-i]) {
			return j
		}
	}
	return n
}

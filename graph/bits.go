package graph

import (
	"iter"
	mathbits "math/bits"
)

// bits is a set of small integers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b bits) has(i int32) bool { return b[i>>6]&(1<<(i&63)) != 0 }
func (b bits) set(i int32)      { b[i>>6] |= 1 << (i & 63) }
func (b bits) clear(i int32)    { b[i>>6] &^= 1 << (i & 63) }

// below returns the greatest member less than i. There must be one.
func (b bits) below(i int32) int32 {
	w := i >> 6
	word := b[w] & (1<<(i&63) - 1)
	for word == 0 {
		w--
		word = b[w]
	}
	return w<<6 + int32(mathbits.Len64(word)) - 1
}

// up yields the members, the least first.
func (b bits) up() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for w, word := range b {
			for ; word != 0; word &= word - 1 {
				if !yield(int32(w<<6 + mathbits.TrailingZeros64(word))) {
					return
				}
			}
		}
	}
}

// down yields the members, the greatest first.
func (b bits) down() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for w := len(b) - 1; w >= 0; w-- {
			for word := b[w]; word != 0; {
				top := mathbits.Len64(word) - 1
				if !yield(int32(w<<6 + top)) {
					return
				}
				word &^= 1 << top
			}
		}
	}
}

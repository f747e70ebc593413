// Package output keeps what commands put out, as far as a driver hands it on.
package output

import (
	"fmt"
	"io"

	"github.com/openrath-go/rath/sandbox/driver"
)

// Capped keeps the beginning and the end of what is written to it, half of its size
// each.
type Capped struct {
	half  int
	head  []byte
	tail  []byte // what came after the head: at least its last half bytes
	total int64
}

// NewCapped makes one that keeps so many bytes; if size is not positive,
// [driver.DefaultMaxOutput].
func NewCapped(size int) *Capped {
	if size <= 0 {
		size = driver.DefaultMaxOutput
	}
	return &Capped{half: max(size/2, 1)}
}

// Write never fails.
func (w *Capped) Write(p []byte) (int, error) {
	n := len(p)
	w.total += int64(n)
	room := min(w.half-len(w.head), n)
	w.head = append(w.head, p[:room]...)
	p = p[room:]
	if len(p) > w.half {
		p = p[len(p)-w.half:]
	}
	if len(w.tail)+len(p) > 2*w.half {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-w.half:]...)
	}
	w.tail = append(w.tail, p...)
	return n, nil
}

// Cut returns how many bytes are gone.
func (w *Capped) Cut() int64 { return max(w.total-2*int64(w.half), 0) }

// String returns what is kept, the cut marked.
func (w *Capped) String() string {
	if w.Cut() == 0 {
		return string(w.head) + string(w.tail)
	}
	return fmt.Sprintf("%s\n[... %d bytes cut ...]\n%s", w.head, w.Cut(), w.tail[len(w.tail)-w.half:])
}

// Tee writes to what keeps the output, and to who follows it live, if anybody does.
func Tee(kept, live io.Writer) io.Writer {
	if live == nil {
		return kept
	}
	return io.MultiWriter(kept, live)
}

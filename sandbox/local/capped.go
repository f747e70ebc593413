package local

import (
	"fmt"

	"github.com/openrath-go/rath/sandbox/driver"
)

// capped keeps the beginning and the end of what is written to it, half of its size
// each.
type capped struct {
	half  int
	head  []byte
	tail  []byte // what came after the head: at least its last half bytes
	total int64
}

func newCapped(size int) *capped {
	if size <= 0 {
		size = driver.DefaultMaxOutput
	}
	return &capped{half: max(size/2, 1)}
}

func (w *capped) Write(p []byte) (int, error) {
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

// cut returns how many bytes are gone.
func (w *capped) cut() int64 { return max(w.total-2*int64(w.half), 0) }

func (w *capped) String() string {
	if w.cut() == 0 {
		return string(w.head) + string(w.tail)
	}
	return fmt.Sprintf("%s\n[... %d bytes cut ...]\n%s", w.head, w.cut(), w.tail[len(w.tail)-w.half:])
}

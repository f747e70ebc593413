package workspace

import (
	"fmt"
	"strings"
)

// size is how much there is in a directory, and right below it.
type size struct {
	files int // and links and directories
	bytes int64
	below map[string]*size
}

func (z *size) add(p string, bytes int64) {
	z.files++
	z.bytes += bytes
	top, _, _ := strings.Cut(p, "/")
	if z.below == nil {
		z.below = make(map[string]*size)
	}
	if z.below[top] == nil {
		z.below[top] = new(size)
	}
	z.below[top].files++
	z.below[top].bytes += bytes
}

// check fails where there is more than is taken.
func (z *size) check(o Options) error {
	switch {
	case o.MaxFiles > 0 && z.files > o.MaxFiles:
		return z.tooLarge("files", int64(o.MaxFiles), func(b *size) int64 { return int64(b.files) })
	case o.MaxBytes > 0 && z.bytes > o.MaxBytes:
		return z.tooLarge("bytes", o.MaxBytes, func(b *size) int64 { return b.bytes })
	}
	return nil
}

// tooLarge names what has most of what was seen, if that is more than half of it: the scan
// stops early, so that what it has not seen may be larger.
func (z *size) tooLarge(unit string, limit int64, of func(*size) int64) error {
	for name, b := range z.below {
		if 2*of(b) > of(z) {
			return fmt.Errorf("%w: more than %d %s; of the first %d seen, %d are in %q", ErrTooLarge, limit, unit, of(z), of(b), name)
		}
	}
	return fmt.Errorf("%w: more than %d %s", ErrTooLarge, limit, unit)
}

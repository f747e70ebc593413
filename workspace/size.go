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
		largest := z.largest(func(b *size) int64 { return int64(b.files) })
		return fmt.Errorf("%w: more than %d files, most of those found in %q", ErrTooLarge, o.MaxFiles, largest)
	case o.MaxBytes > 0 && z.bytes > o.MaxBytes:
		largest := z.largest(func(b *size) int64 { return b.bytes })
		return fmt.Errorf("%w: more than %d bytes, most of those found in %q", ErrTooLarge, o.MaxBytes, largest)
	}
	return nil
}

func (z *size) largest(of func(*size) int64) (name string) {
	var most int64 = -1
	for n, b := range z.below {
		if v := of(b); v > most || v == most && n < name {
			name, most = n, v
		}
	}
	return name
}

package docker

import (
	"io"
	"net"
)

// leash is the container's standard input: when it is closed, if need be by the system
// because this program has been killed, the container ends.
type leash struct {
	conn net.Conn
	lost chan struct{} // closed when the container has ended, or is about to
}

func newLeash(conn net.Conn) *leash {
	l := &leash{conn, make(chan struct{})}
	go func() {
		defer close(l.lost)
		_, _ = io.Copy(io.Discard, conn)
	}()
	return l
}

func (l *leash) close() {
	_ = l.conn.Close()
	<-l.lost
}

// tie has the container end with a leash, instead of with an earlier one.
func (b *box) tie(l *leash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leash != nil {
		b.leash.close()
	}
	b.leash = l
}

// slipped reports whether the container's leash is lost.
func (b *box) slipped() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.leash == nil {
		return false
	}
	select {
	case <-b.leash.lost:
		return true
	default:
		return false
	}
}

package llm

import (
	"cmp"
	"container/list"
	"context"
	"sync"

	"github.com/openrath-go/rath/session"
)

// MemoryCache is a [CacheStore] in memory. When it is full, the replies that were not used
// for the longest time make room. Set Bytes before the first use; then it is safe for
// concurrent use. The zero value is empty.
type MemoryCache struct {
	Bytes int // about how large all replies together may be; 0: 64 MiB

	mu    sync.Mutex
	size  int
	byKey map[session.Digest]*list.Element
	used  list.List // of kept, the latest first
}

type kept struct {
	key   session.Digest
	reply Reply
	size  int
}

// Get implements [CacheStore].
func (m *MemoryCache) Get(_ context.Context, key session.Digest) (Reply, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.byKey[key]
	if !ok {
		return Reply{}, false
	}
	m.used.MoveToFront(e)
	return e.Value.(kept).reply, true
}

// Put implements [CacheStore]. A reply that is larger than all of the cache is not kept.
func (m *MemoryCache) Put(_ context.Context, key session.Digest, r Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	limit, k := cmp.Or(m.Bytes, 64<<20), kept{key, r, sizeOf(r)}
	if e, ok := m.byKey[key]; ok {
		m.drop(e)
	}
	if k.size > limit {
		return
	}
	for m.size+k.size > limit {
		m.drop(m.used.Back())
	}
	if m.byKey == nil {
		m.byKey = map[session.Digest]*list.Element{}
	}
	m.byKey[key] = m.used.PushFront(k)
	m.size += k.size
}

func (m *MemoryCache) drop(e *list.Element) {
	k := m.used.Remove(e).(kept)
	delete(m.byKey, k.key)
	m.size -= k.size
}

// sizeOf is about how much memory a reply takes.
func sizeOf(r Reply) int {
	const overhead = 512 // of a reply, its entry, and of each part and call
	size := overhead
	for p := range r.Chunk.Parts() {
		size += overhead + len(p.Text) + len(p.Data) + len(p.Extra) + len(p.URL)
	}
	for c := range r.Chunk.Calls() {
		size += overhead + len(c.Name) + len(c.Arguments) + len(c.Extra)
	}
	return size
}

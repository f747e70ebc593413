package local

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// matrix holds the vectors of one model in memory, beside those in the file, which other
// processes change too. What it has too many is found out when notes are read.
type matrix struct {
	mu    sync.RWMutex
	model int64
	seq   int64 // of the last change that it has
	dim   int
	notes []int64
	seqs  []int64
	rows  []float32 // of length 1, one after the other
	at    map[int64]int
}

// sync takes in what has changed.
func (m *matrix) sync(ctx context.Context, tx querier, model int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.model != model {
		m.reset(model)
	}
	last := m.seq
	rows, err := tx.QueryContext(ctx, "SELECT note, seq, data FROM vectors WHERE model = ? AND seq > ? ORDER BY seq", model, m.seq)
	err = eachRow(rows, err, func(rows *sql.Rows) error {
		var note, seq int64
		var data sql.RawBytes
		if err := rows.Scan(&note, &seq, &data); err != nil {
			return err
		}
		if seq != last { // of one change there may be many: it has them all when the next begins
			m.seq, last = last, seq
		}
		return m.set(note, seq, data)
	})
	if err == nil {
		m.seq = last
	}
	return err
}

func (m *matrix) reset(model int64) {
	m.model, m.seq, m.dim = model, 0, 0
	m.notes, m.seqs, m.rows, m.at = nil, nil, nil, map[int64]int{}
}

func (m *matrix) set(note, seq int64, data []byte) error {
	if m.dim == 0 {
		m.dim = len(data) / 4
	}
	if len(data) != 4*m.dim || m.dim == 0 {
		return fmt.Errorf("%w: the vector of note %d has %d bytes, not %d", ErrDamaged, note, len(data), 4*m.dim)
	}
	i, ok := m.at[note]
	if !ok {
		i = len(m.notes)
		m.at[note] = i
		m.notes, m.seqs = append(m.notes, note), append(m.seqs, seq)
		m.rows = append(m.rows, make([]float32, m.dim)...)
	}
	m.seqs[i] = seq
	for j, row := 0, m.rows[i*m.dim:]; j < m.dim; j++ {
		row[j] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*j:]))
	}
	return nil
}

// near is a note and how near it is.
type near struct {
	note, seq int64
	cosine    float32
}

// nearest compares a vector with all, and gives those that are not turned away from it,
// in no order.
func (m *matrix) nearest(v []float32) []near {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(v) != m.dim {
		return nil
	}
	n := len(m.notes)
	workers := min(runtime.GOMAXPROCS(0), 1+n/4096)
	parts := make([][]near, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { parts[w] = m.compare(v, n*w/workers, n*(w+1)/workers) })
	}
	wait.Wait()
	return slices.Concat(parts...)
}

func (m *matrix) compare(v []float32, from, to int) []near {
	found := make([]near, 0, to-from)
	for i := from; i < to; i++ {
		if cosine := dot(v, m.rows[i*m.dim:(i+1)*m.dim]); cosine > 0 {
			found = append(found, near{m.notes[i], m.seqs[i], cosine})
		}
	}
	return found
}

// dot is the product of two vectors of the same dimension. Four sums at once keep the
// processor busy.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

var errVector = errors.New("no vector: it is empty or has no numbers in it")

// unit gives a vector the length 1. A zero vector stays: it is near to nothing.
func unit(v []float32) ([]float32, error) {
	var sum float64
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if len(v) == 0 || math.IsNaN(sum) || math.IsInf(sum, 0) {
		return nil, errVector
	}
	scale := 0.0
	if sum > 0 {
		scale = 1 / math.Sqrt(sum)
	}
	u := make([]float32, len(v))
	for i, f := range v {
		u[i] = float32(float64(f) * scale)
	}
	return u, nil
}

// blob is a vector as it is kept.
func blob(v []float32) []byte {
	data := make([]byte, 0, 4*len(v))
	for _, f := range v {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(f))
	}
	return data
}

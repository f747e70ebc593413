package local

import (
	"context"
	"errors"
	"testing"
)

// A reading of vectors that is cut off is taken up where it was, not after it.
func TestMatrixGoesOnWhereItWasCutOff(t *testing.T) {
	d := openTest(t, &Options{Embedder: &synonyms{name: "a"}})
	put(t, d, note("a", "tea"), note("b", "dog"), note("c", "flat"))
	vectorsMade(t, d, 3)
	data := func(f string) {
		t.Helper()
		err := d.write(t.Context(), func(ctx context.Context, tx execer) error {
			const second = " WHERE note = (SELECT note FROM vectors ORDER BY seq, note LIMIT 1 OFFSET 1)"
			return errors.Join(exec(ctx, tx, "UPDATE vectors SET seq = 7"), exec(ctx, tx, "UPDATE vectors SET data = "+f+second))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	m := matrix{}
	read := func() error {
		return d.read(t.Context(), func(ctx context.Context, tx querier) error { return m.sync(ctx, tx, d.index.model) })
	}
	data("CAST(data || x'00' AS BLOB)")
	if err := read(); !errors.Is(err, ErrDamaged) {
		t.Fatalf("the error is %v", err)
	}
	data("substr(data, 1, 16)")
	if err := read(); err != nil || len(m.notes) != 3 || m.seq != 7 {
		t.Errorf("%d vectors up to change %d, %v", len(m.notes), m.seq, err)
	}
	if err := read(); err != nil || len(m.notes) != 3 {
		t.Errorf("read again: %d vectors, %v", len(m.notes), err)
	}
}

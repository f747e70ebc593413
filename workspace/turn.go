package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// rounds is how often a directory that changes meanwhile is looked at and changed.
const rounds = 5

// standstill is how long a directory is left alone before the next round: longer than file
// systems take to stamp a change with another time.
const standstill = 50 * time.Millisecond

// turn makes of a directory what next makes of its present snapshot. Nothing is changed
// that is not as next was told: then it is asked again. What earlier rounds have done
// counts as not done, so that before is the directory without it. Unless strict, the last
// round replaces what was there when it was looked at, even if it has been edited since.
func (s *Store) turn(ctx context.Context, dir string, strict bool, next func(now ID) (ID, error)) (before ID, err error) {
	release, err := s.use(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	root, dir, err := openTop(dir)
	if err != nil {
		return "", err
	}
	root.Close()
	alone, err := lock(ctx, s.cachePath(dir)+".lock", true) // until nobody else changes it
	if err != nil {
		return "", err
	}
	defer alone()
	done := make(map[string]step)
	for n := 1; ; n++ {
		before, err = s.round(ctx, dir, &guard{done: done, lax: !strict && n == rounds}, next)
		again := errors.Is(err, errChanged) || errors.Is(err, ErrBlocked)
		switch {
		case again && n < rounds:
			if err := pause(ctx, standstill); err != nil {
				return before, err
			}
			continue
		case errors.Is(err, errChanged):
			err = fmt.Errorf("%w: %w", ErrChanging, err)
		}
		return before, err
	}
}

// round looks at a directory once, and changes it.
func (s *Store) round(ctx context.Context, dir string, g *guard, next func(now ID) (ID, error)) (before ID, err error) {
	v, err := s.view(ctx, dir)
	if err != nil {
		return "", err
	}
	defer v.root.Close()
	g.found, g.since, g.now = v.found, v.at, treeOf(v.found)
	before = v.ID
	if g.takeBack() {
		if before, err = write(ctx, s.objects, g.now); err != nil {
			return v.ID, err
		}
	}
	to, refused := next(before)
	if refused != nil {
		to = before // and nothing of what was done stays
	}
	if to != v.ID || len(v.temps) > 0 {
		err = s.change(ctx, v, g, to)
	}
	return before, cmp.Or(err, refused)
}

// change makes of a directory that was looked at what a snapshot is.
func (s *Store) change(ctx context.Context, v *view, g *guard, to ID) error {
	r := s.reader(ctx)
	defer r.close()
	want, err := r.tree(to)
	if err != nil {
		return err
	}
	excluded := s.excluded(v.dir)
	for p := range want {
		if within(excluded, p) {
			delete(want, p)
		}
	}
	have := treeOf(v.found)
	if err := s.spare(r, have, want); err != nil {
		return err
	}
	if err := sweep(v.root, v.temps); err != nil {
		return err
	}
	c := &changer{guard: g, ctx: ctx, have: have, want: want, from: r}
	return c.run(v.root)
}

// step is what was done to a path.
type step struct{ was, is entry }

// takeBack makes of now what the directory would be had nothing been done to it, and
// reports whether that differs. What somebody has changed since stays as it is; if that
// does not go together, all does.
func (g *guard) takeBack() (differs bool) {
	without := make(tree, len(g.now))
	for p, e := range g.now {
		if d, ok := g.done[p]; ok && d.is == e {
			e = d.was
		}
		if e != (entry{}) {
			without[p] = e
		}
	}
	for p, d := range g.done {
		if _, there := g.now[p]; !there && d.is == (entry{}) {
			without[p] = d.was
		}
	}
	for _, p := range without.sorted() {
		without.addParents(p)
	}
	for p := range without {
		if d := parent(p); d != "" && !without[d].isDir() {
			return false
		}
	}
	differs = !maps.Equal(g.now, without)
	g.now = without
	return differs
}

package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A layer is a directory of files that forks share and nobody changes. It is all of a
// snapshot, or, for overlays, what differs from the layers below it. A layer's folder has
// "fs", the files; "below", the names of the layers below, a line each, the next one first;
// and "cache", the stat cache that snapshots of a fork begin with.

// plain are layers that are whole and are not mounted.
const plain = "plain"

// maxDepth is how many layers an overlay is made of at most.
const maxDepth = 8

// layerDir is the folder of a layer, and class keeps apart those that only some kind of
// mount can read.
func (s *Store) layerDir(class string, id ID) string { return s.own("layers", class, string(id)) }

// below returns the names of the layers below one.
func (s *Store) below(class string, id ID) (ids []ID) {
	data, _ := os.ReadFile(filepath.Join(s.layerDir(class, id), "below"))
	for name := range strings.FieldsSeq(string(data)) {
		ids = append(ids, ID(name))
	}
	return ids
}

// chain returns the names of the layers that make a snapshot, the topmost first.
func (s *Store) chain(class string, id ID) ([]ID, error) {
	now := time.Now()
	if err := os.Chtimes(s.layerDir(class, id), now, now); err != nil { // it is in use
		return nil, err
	}
	return append([]ID{id}, s.below(class, id)...), nil
}

// ensureLayer returns the layers of a snapshot, and makes the topmost if it is not there.
func (s *Store) ensureLayer(ctx context.Context, class string, id ID) ([]ID, error) {
	ids, err := s.chain(class, id)
	if !errors.Is(err, fs.ErrNotExist) {
		return ids, err
	}
	if err := os.MkdirAll(s.own("layers", class), 0o700); err != nil {
		return nil, err
	}
	release, err := lock(ctx, s.own("layers", class+".lock"), true)
	if err != nil {
		return nil, err
	}
	defer release()
	if ids, err = s.chain(class, id); !errors.Is(err, fs.ErrNotExist) {
		return ids, err // somebody else has made it meanwhile
	}
	return s.buildLayer(ctx, class, id)
}

func (s *Store) buildLayer(ctx context.Context, class string, id ID) (ids []ID, err error) {
	sl, err := s.newSlot()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sl.remove(s)) }()
	b := &layerBuilder{s: s, slot: sl, class: class, id: id, dir: filepath.Join(sl.dir, "layer")}
	if err := os.MkdirAll(filepath.Join(b.dir, "fs"), 0o755); err != nil {
		return nil, err
	}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	if err := os.Rename(b.dir, s.layerDir(class, id)); err != nil {
		return nil, err
	}
	return append([]ID{id}, b.below...), nil
}

// layerBuilder makes a layer in a slot.
type layerBuilder struct {
	s     *Store
	slot  *slot
	class string
	id    ID
	dir   string
	below []ID
	have  tree // what the layers below are
}

func (b *layerBuilder) build(ctx context.Context) error {
	r := b.s.reader(ctx)
	defer r.close()
	want, err := r.tree(b.id)
	if err != nil {
		return err
	}
	if b.class != plain {
		if err := b.choose(r, want); err != nil {
			return err
		}
	}
	top := filepath.Join(b.dir, "fs")
	if len(b.below) > 0 {
		if top, err = b.mount(); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	c := &changer{ctx: ctx, have: b.have, want: want, from: r, fresh: len(b.below) == 0}
	if err := c.run(root); err != nil {
		return err
	}
	known, err := prime(root, b.id, want)
	if err != nil {
		return err
	}
	return b.finish(known)
}

// choose takes the layer that was used last for what is below, if most of it stays.
func (b *layerBuilder) choose(r *reader, want tree) error {
	entries, err := os.ReadDir(b.s.own("layers", b.class))
	if err != nil {
		return err
	}
	var last ID
	var lastUse time.Time
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().After(lastUse) {
			last, lastUse = ID(e.Name()), info.ModTime()
		}
	}
	if last == "" {
		return nil
	}
	ids, err := b.s.chain(b.class, last)
	if err != nil || len(ids) >= maxDepth {
		return nil
	}
	have, err := r.tree(last)
	if err != nil {
		return nil // the snapshot itself is gone
	}
	if 2*differing(have, want) < len(want) {
		b.below, b.have = ids, have
	}
	return nil
}

func differing(a, b tree) (n int) {
	for p, e := range b {
		if a[p] != e {
			n++
		}
	}
	for p := range a {
		if _, ok := b[p]; !ok {
			n++
		}
	}
	return n
}

// mount makes the new layer the upper one of an overlay: what is changed there is what
// differs.
func (b *layerBuilder) mount() (string, error) {
	at, work := filepath.Join(b.slot.dir, "files"), filepath.Join(b.slot.dir, "work")
	for _, d := range []string{at, work} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return "", err
		}
	}
	return at, mountOverlay(overlayMount{
		at: at, lower: b.s.lower(b.class, b.below), upper: filepath.Join(b.dir, "fs"), work: work, class: b.class,
	})
}

func (b *layerBuilder) finish(known *cache) error {
	var below strings.Builder
	for _, id := range b.below {
		below.WriteString(string(id) + "\n")
	}
	if err := b.s.saveCache(filepath.Join(b.dir, "cache"), known); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.dir, "below"), []byte(below.String()), 0o600)
}

// lower are the directories of layers.
func (s *Store) lower(class string, ids []ID) (dirs []string) {
	for _, id := range ids {
		dirs = append(dirs, filepath.Join(s.layerDir(class, id), "fs"))
	}
	return dirs
}

func (s *Store) plainLayer(ctx context.Context, id ID) (string, error) {
	if _, err := s.ensureLayer(ctx, plain, id); err != nil {
		return "", err
	}
	return filepath.Join(s.layerDir(plain, id), "fs"), nil
}

// overlayMount is an overlay that is to be mounted.
type overlayMount struct {
	at, upper, work string
	lower           []string // the topmost first
	class           string
}

// overlay makes a fork an overlay over the snapshot's layers.
func (s *Store) overlay(ctx context.Context, f *Fork) error {
	class, err := s.overlays()
	if err != nil {
		return err
	}
	if err := s.setLower(ctx, f.slot, class); err != nil {
		return err
	}
	if err := s.mountFork(f.slot); err != nil {
		return err
	}
	name := s.cachePath(f.Dir)
	_ = os.Remove(name)
	err = os.Link(filepath.Join(s.layerDir(class, f.ID), "cache"), name)
	if err != nil {
		_ = f.slot.unmount()
	}
	return err
}

// setLower notes what layers a fork's overlay has, and makes those that are not there.
func (s *Store) setLower(ctx context.Context, sl *slot, class string) error {
	ids, err := s.ensureLayer(ctx, class, sl.ID)
	if err != nil {
		return err
	}
	sl.Class, sl.Lower = class, nil
	for _, id := range ids {
		sl.Lower = append(sl.Lower, string(id))
	}
	return sl.save(s)
}

// mountFork mounts a fork's overlay, the first time or again.
func (s *Store) mountFork(sl *slot) error {
	m := overlayMount{at: sl.Dir, upper: filepath.Join(sl.dir, "upper"), work: filepath.Join(sl.dir, "work"), class: sl.Class}
	for _, d := range []string{m.upper, m.work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for _, id := range sl.Lower {
		m.lower = append(m.lower, filepath.Join(s.layerDir(sl.Class, ID(id)), "fs"))
	}
	return mountOverlay(m)
}

// tryOverlays tries whether overlays can be mounted here, and returns the class of
// layers for them.
func (s *Store) tryOverlays() (class string, err error) {
	if class, err = overlayClass(); err != nil {
		return "", err
	}
	sl, err := s.newSlot()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, sl.remove(s)) }()
	dirs := map[string]string{}
	for _, d := range []string{"files", "lower", "upper", "work"} {
		dirs[d] = filepath.Join(sl.dir, d)
		if err := os.Mkdir(dirs[d], 0o755); err != nil {
			return "", err
		}
	}
	return class, mountOverlay(overlayMount{
		at: dirs["files"], lower: []string{dirs["lower"]}, upper: dirs["upper"], work: dirs["work"], class: class,
	})
}

// layerIDs returns the layers of a class.
func (s *Store) layerIDs(class string) []ID {
	entries, _ := os.ReadDir(s.own("layers", class))
	var ids []ID
	for _, e := range entries {
		ids = append(ids, ID(e.Name()))
	}
	slices.Sort(ids)
	return ids
}

package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// slot is a place in the store for something that is to go again: a fork, or a layer that
// is not finished. Whoever holds its lock lives.
type slot struct {
	record
	dir     string
	release func()
}

// record is what is noted of a slot, for whoever finds it.
type record struct {
	Dir    string   `json:"dir,omitempty"`    // the fork's directory
	Made   bool     `json:"made"`             // the directory was not there before
	Closed bool     `json:"closed,omitempty"` // nobody wants what is in it
	ID     ID       `json:"id,omitempty"`
	Method Method   `json:"method,omitempty"` // empty: nothing is in it yet
	Filled bool     `json:"filled,omitempty"` // all of the snapshot is in it; an overlay has it from the start
	Lower  []string `json:"lower,omitempty"`  // an overlay's layers, relative to the store's own folder
	Class  string   `json:"class,omitempty"`
}

func (s *Store) newSlot() (*slot, error) {
	dir, err := os.MkdirTemp(s.own("forks"), "")
	if err != nil {
		return nil, err
	}
	release, err := lock(context.Background(), filepath.Join(dir, "lock"), true)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &slot{dir: dir, release: release}, nil
}

// claim takes a directory for a fork. One elsewhere is noted before it is made.
func (sl *slot) claim(s *Store, dir string, id ID) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	made := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !made:
		return err
	case len(entries) > 0:
		return fmt.Errorf("%s: %w", dir, ErrNotEmpty)
	}
	sl.ID, sl.Dir, sl.Made = id, dir, made
	if filepath.Dir(dir) != sl.dir {
		if err := sl.save(s); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	sl.Dir, err = filepath.EvalSymlinks(dir)
	return err
}

const recordName = "record.json"

// save notes what there is to know for whoever finds the slot.
func (sl *slot) save(s *Store) error {
	data, err := json.Marshal(sl.record)
	if err != nil {
		return err
	}
	return s.replace(filepath.Join(sl.dir, recordName), data)
}

// remove takes away the slot and its fork.
func (sl *slot) remove(s *Store) error {
	defer sl.release()
	if err := sl.unmount(); err != nil {
		return err // what is mounted must not be emptied
	}
	var err error
	if sl.Dir != "" {
		switch {
		case sl.Made && sl.Method == "":
			_ = os.Remove(sl.Dir) // what is in it now is somebody else's
		case sl.Made:
			err = removeAll(sl.Dir)
		case sl.Method != "":
			if err = empty(sl.Dir); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
		_ = os.Remove(s.cachePath(sl.Dir))
		_ = os.Remove(s.cachePath(sl.Dir) + ".lock")
	}
	return errors.Join(err, removeAll(sl.dir))
}

// unmount ends the mounts that a slot may have.
func (sl *slot) unmount() error {
	dirs := []string{filepath.Join(sl.dir, "files")}
	if sl.Method == Overlay && sl.Dir != dirs[0] {
		dirs = append(dirs, sl.Dir)
	}
	var err error
	for _, dir := range dirs {
		if isOverlay(dir) {
			err = errors.Join(err, unmount(dir))
		}
	}
	return err
}

package local

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// group is the process group of one command.
type group struct {
	id    int
	leash *os.File // the kernel kills the group when it closes; nil: this system's cannot
}

// start starts a command, whose group is its own, in a cage. It is counted before it
// begins.
func start(cmd *exec.Cmd, in cage, by *counter) (*group, error) {
	leash, collar, err := newLeash(cmd, in.collar())
	if err != nil {
		return nil, err
	}
	defer collar.Close()
	files, err := in.wrap(cmd)
	defer closeAll(files)
	var latch *gate
	if err == nil && by != nil {
		latch, err = newGate(cmd)
		defer latch.close()
	}
	if err == nil {
		err = in.start(cmd)
	}
	if err != nil {
		leash.Close()
		return nil, err
	}
	tie(collar, cmd.Process.Pid)
	g := &group{cmd.Process.Pid, leash}
	if latch != nil {
		err = errors.Join(by.join(g.id), latch.open())
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		leash.Close()
		return nil, err
	}
	return g, nil
}

// groups are those that ended commands have left processes in.
type groups struct {
	mu   sync.Mutex
	list []*group
}

// add remembers the group of a command that has ended, and forgets those that are empty:
// so there are never more than processes.
func (s *groups) add(g *group) {
	if !g.alive() {
		g.leash.Close()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetEmpty()
	s.list = append(s.list, g)
}

func (s *groups) forgetEmpty() {
	s.list = slices.DeleteFunc(s.list, func(g *group) bool {
		gone := !g.alive()
		if gone {
			g.leash.Close()
		}
		return gone
	})
}

// end kills all groups and waits for them to be gone; not for long, since it is for the
// system's first process to bury them, and some never do.
func (s *groups) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range 20 {
		if s.forgetEmpty(); len(s.list) == 0 {
			return
		}
		for _, g := range s.list {
			g.kill()
		}
		time.Sleep(time.Millisecond)
	}
	for _, g := range s.list {
		g.leash.Close()
	}
}

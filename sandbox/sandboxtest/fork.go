package sandboxtest

import (
	"sync"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
)

// forkRules are those of snapshots and forks.
var forkRules = []rule{
	{"takes snapshots", "what happened to files must be known", "Files Snapshot", func(c check) {
		if c.s.Workspace() == nil {
			c.Fatalf("the driver claims Snapshot and keeps none")
		}
		c.write("a", "1")
		c.write("folder/b", "2")
		first := c.snapshot(c.s)
		if again := c.snapshot(c.s); again != first {
			c.broken("the same files are %s and %s", first, again)
		}
		c.write("a", "3")
		second := c.snapshot(c.s)
		changes, err := c.s.Workspace().Diff(c.ctx, first, second)
		c.must(err, "compare")
		if len(changes) != 1 || changes[0].Path != "a" {
			c.broken("between the snapshots there are %+v", changes)
		}
	}},
	{"restores what a snapshot is", "to go back must be to go back to all of it", "Exec Files Snapshot", func(c check) {
		c.shell(`mkdir -p dir/empty; printf 1 >dir/a; printf '\0\377' >binary; printf 'exit 0' >run; chmod 755 run; ln -s dir/a link`)
		before := c.snapshot(c.s)
		c.shell("rm -r dir link; printf 2 >binary; chmod 644 run; mkdir link; echo new >link/new")
		changed := c.snapshot(c.s)
		replaced, err := c.s.Restore(c.ctx, before)
		c.must(err, "restore")
		if diff := cmp.Diff([]sandbox.SnapshotID{changed, before}, []sandbox.SnapshotID{replaced, c.snapshot(c.s)}); diff != "" {
			c.broken("what was there before, and is now (-want +got)\n%s", diff)
		}
		if r := c.shell("[ -d dir/empty ] && [ -L link ] && [ ! -e link/new ] && ./run && cat link"); r.Stdout != "1" || r.ExitCode != 0 {
			c.broken("a command finds %+v", r)
		}
		c.holds(c.s, "binary", "\x00\xff")
	}},
	{"merges changes in", "branches come together again", "Files Snapshot", func(c check) {
		c.write("a", "1\n")
		from := c.snapshot(c.s)
		c.write("a", "2\n")
		c.write("b", "new\n")
		to := c.snapshot(c.s)
		_, err := c.s.Restore(c.ctx, from)
		c.must(err, "restore")
		c.write("mine", "mine\n")
		now := c.snapshot(c.s)
		before, err := c.s.Apply(c.ctx, from, to)
		c.must(err, "apply changes")
		if before != now {
			c.broken("before the changes there was %s, not %s", before, now)
		}
		for name, text := range map[string]string{"a": "2\n", "b": "new\n", "mine": "mine\n"} {
			c.holds(c.s, name, text)
		}
	}},
	{"forks isolate both ways", "what one branch does must not show in another", "Exec Files Fork", func(c check) {
		c.write("a", "base")
		c.write("gone", "base")
		base := c.snapshot(c.s)
		left, right := c.fork(c.s, base), c.fork(c.s, base)
		p, own := left.Placement(), c.s.Placement()
		if p.ID == own.ID || p.Fork != base || !p.Forkable || p.Level != own.Level {
			c.broken("the placement of a fork is %+v", p)
		}
		for s, text := range map[*sandbox.Sandbox]string{c.s: "origin", left: "left", right: "right"} {
			c.must(s.WriteFile(c.ctx, "a", []byte(text)), "write")
			r, err := s.Exec(c.ctx, sandbox.Command{Shell: "cat a; cp a copy-$N; rm gone", Env: []string{"N=" + text}})
			if err != nil || r.Stdout != text || r.ExitCode != 0 {
				c.broken("a command in %s gave %+v, %v", text, r, err)
			}
		}
		for s, text := range map[*sandbox.Sandbox]string{c.s: "origin", left: "left", right: "right"} {
			c.holds(s, "a", text)
			entries, err := s.List(c.ctx, ".")
			if len(entries) != 2 || err != nil {
				c.broken("%s has in it %v, %v", text, entries, err)
			}
		}
	}},
	{"forks keep the rules", "a branch must not be a way out", "Fork", func(c check) {
		f := c.fork(c.s, c.snapshot(c.s))
		if diff := cmp.Diff(c.s.Capabilities(), f.Capabilities()); diff != "" {
			c.broken("a fork's capabilities (-origin +fork)\n%s", diff)
		}
		if f.Policy().Level != c.s.Policy().Level || f.Policy().Network != c.s.Policy().Network {
			c.broken("a fork's policy is %+v, the origin's %+v", f.Policy(), c.s.Policy())
		}
	}},
	{"forks of forks", "branches have branches", "Files Fork", func(c check) {
		c.write("a", "0")
		first := c.fork(c.s, c.snapshot(c.s))
		c.must(first.WriteFile(c.ctx, "a", []byte("1")), "write")
		second := c.fork(first, c.snapshot(first))
		c.holds(second, "a", "1")
		c.must(second.WriteFile(c.ctx, "a", []byte("2")), "write")
		c.holds(first, "a", "1")
		c.holds(c.s, "a", "0")
		c.must(first.Close(), "close the one between")
		c.holds(second, "a", "2")
	}},
	{"forks are opened by their first use", "most branches that are offered are not taken", "Files Fork", func(c check) {
		c.write("a", "1")
		base := c.snapshot(c.s)
		c.write("a", "2")
		later := c.snapshot(c.s)
		f := c.fork(c.s, base)
		if at := c.snapshot(f); at != base {
			c.broken("a fork that nothing has used is %s, not %s", at, base)
		}
		f.Advance(sandbox.Version{Snapshot: later, Number: 1})
		c.holds(f, "a", "2")
		f.Advance(sandbox.Version{Snapshot: base, Number: 2})
		c.holds(f, "a", "2")
		unused := c.fork(c.s, base)
		c.must(unused.Close(), "close a fork that nothing has used")
		_, err := unused.ReadFile(c.ctx, "a")
		c.is(err, sandbox.ErrClosed, "read in it")
	}},
	{"forks in parallel", "agents work side by side", "Exec Files Fork", func(c check) {
		c.write("a", "base\n")
		base := c.snapshot(c.s)
		var mu sync.Mutex
		ends := map[sandbox.SnapshotID]bool{}
		c.together(8, func(i int) error {
			f, err := c.s.Fork(base)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.Exec(c.ctx, sandbox.Command{Shell: "echo $I >>a", Env: []string{"I=" + string(rune('0'+i))}}); err != nil {
				return err
			}
			end, err := f.Snapshot(c.ctx)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			ends[end.ID] = true
			return f.Close()
		})
		if len(ends) != 8 {
			c.broken("8 branches ended as %d different ones", len(ends))
		}
		c.holds(c.s, "a", "base\n")
	}},
	{"forks end with their close", "branches must not pile up", "Exec Files Fork", func(c check) {
		c.write("a", "1")
		f := c.fork(c.s, c.snapshot(c.s))
		begun, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := f.Exec(c.ctx, sandbox.Command{Shell: "echo begun; sleep 600", Stdout: &trigger{text: "begun", fire: func() { close(begun) }}})
			ended <- err
		}()
		<-begun
		c.must(f.Close(), "close the fork")
		c.is(<-ended, sandbox.ErrClosed, "run while it closes")
		_, err := f.ReadFile(c.ctx, "a")
		c.is(err, sandbox.ErrClosed, "read in a closed fork")
		c.holds(c.s, "a", "1")
		gone, err := c.s.Workspace().GC(c.ctx, nil)
		c.must(err, "collect")
		if len(gone.Orphans) > 0 {
			c.broken("a closed fork left %+v", gone.Orphans)
		}
	}},
	{"refuses to fork what it cannot", "a branch that is none would be lost", "", func(c check) {
		if c.s.Capabilities().Fork {
			f := c.fork(c.s, "0000000000000000000000000000000000000000")
			if _, err := f.ReadFile(c.ctx, "a"); err == nil {
				c.broken("a fork of a snapshot that there is not was opened")
			}
			return
		}
		_, err := c.s.Fork("x")
		c.is(err, sandbox.ErrUnsupported, "fork without the capability")
	}},
}

func (c check) snapshot(s *sandbox.Sandbox) sandbox.SnapshotID {
	c.Helper()
	snapshot, err := s.Snapshot(c.ctx)
	c.must(err, "take a snapshot")
	return snapshot.ID
}

// fork forks a sandbox until the rule ends.
func (c check) fork(s *sandbox.Sandbox, at sandbox.SnapshotID) *sandbox.Sandbox {
	c.Helper()
	f, err := s.Fork(at)
	c.must(err, "fork")
	c.Cleanup(func() { f.Close() })
	return f
}

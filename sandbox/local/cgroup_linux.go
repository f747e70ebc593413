package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/openrath-go/rath/sandbox/driver"
)

// counter is a control group that limits how many processes a sandbox has in all.
type counter struct{ dir string }

const counterPrefix = "rath-"

// count has the kernel count the sandbox's processes, where this program may make control
// groups. Elsewhere they are counted with all others of the user; of the superuser's, the
// kernel counts none.
func (b *box) count() error {
	n := b.policy.Limits.Processes
	if n <= 0 {
		return nil
	}
	var err error
	if b.counter, err = newCounter(b.id, n); err == nil || os.Getuid() != 0 {
		return nil
	}
	return &driver.PolicyError{
		Level: b.policy.Level, Missing: "a limit on processes",
		Reason: "the kernel does not count the superuser's, and no control group can be made: " + err.Error(),
		Remedy: "run as an ordinary user, or have the control group delegated to this program",
	}
}

func newCounter(id string, n int) (*counter, error) {
	var failed error
	for _, parent := range counterParents() {
		sweepCounters(parent)
		c := &counter{filepath.Join(parent, fmt.Sprint(counterPrefix, os.Getpid(), "-", id))}
		err := os.Mkdir(c.dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(c.dir, "pids.max"), []byte(strconv.Itoa(n)), 0)
		}
		if err == nil {
			return c, nil
		}
		_ = os.Remove(c.dir)
		failed = errors.Join(failed, plain(err))
	}
	if failed == nil {
		failed = errors.New("there are none that count processes")
	}
	return nil, failed
}

// counterParents are this program's control groups in the hierarchies that can count
// processes.
func counterParents() (dirs []string) {
	own, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(own)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "":
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup", f[2]))
		case f[1] == "pids":
			dirs = append(dirs, filepath.Join("/sys/fs/cgroup/pids", f[2]))
		}
	}
	return dirs
}

// sweepCounters removes those of programs that are gone.
func sweepCounters(parent string) {
	left, _ := filepath.Glob(filepath.Join(parent, counterPrefix+"[0-9]*-*")) // the pattern is sound
	for _, dir := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), counterPrefix), "-")
		if _, err := os.Stat("/proc/" + pid); errors.Is(err, os.ErrNotExist) {
			(&counter{dir}).close()
		}
	}
}

// join counts a process and those it will start.
func (c *counter) join(pid int) error {
	err := os.WriteFile(filepath.Join(c.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err != nil {
		return fmt.Errorf("count the command's processes: %w", plain(err))
	}
	return nil
}

// close kills what is left in it and removes it.
func (c *counter) close() {
	if c == nil {
		return
	}
	for range 100 {
		if err := os.Remove(c.dir); !errors.Is(err, syscall.EBUSY) {
			return
		}
		pids, _ := os.ReadFile(filepath.Join(c.dir, "cgroup.procs"))
		for word := range strings.FieldsSeq(string(pids)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		time.Sleep(time.Millisecond)
	}
}

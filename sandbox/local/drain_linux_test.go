package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// drain is an attempt to use up what others need. It is made twice: freely, and with what
// is said to limit it.
type drain struct {
	kind, name string
	limit      string // empty: nothing limits it
	free       sandbox.Command
	limited    sandbox.Command
	limits     func(*testing.T) sandbox.Limits
	cameOff    func(sandbox.Result) bool
}

var drains = []drain{
	{kind: "fork bombs", name: "many processes", limit: "Limits.Processes",
		free:    sandbox.Command{Shell: crowd},
		limits:  func(t *testing.T) sandbox.Limits { return sandbox.Limits{Processes: ownTasks(t) + 20} },
		cameOff: says("all\n")},
	{kind: "time", name: "much computing", limit: "Limits.CPU",
		free:    sandbox.Command{Shell: "while :; do :; done", Timeout: 1500 * time.Millisecond},
		limited: sandbox.Command{Shell: "while :; do :; done", Timeout: time.Minute},
		limits:  fixed(sandbox.Limits{CPU: time.Second}),
		cameOff: func(r sandbox.Result) bool { return r.TimedOut }},
	{kind: "time", name: "hang", limit: "Command.Timeout",
		free:    sandbox.Command{Shell: "sleep 1; echo done"},
		limited: sandbox.Command{Shell: "sleep 1; echo done", Timeout: 100 * time.Millisecond},
		cameOff: says("done\n")},
	{kind: "memory", name: "much memory", limit: "Limits.Memory",
		free:    sandbox.Command{Shell: `x=$(head -c 100000000 /dev/zero | tr '\0' x); echo ${#x}`},
		limits:  fixed(sandbox.Limits{Memory: 50 << 20}),
		cameOff: says("100000000\n")},
	{kind: "memory", name: "memory of many processes",
		free: sandbox.Command{Shell: `for i in 1 2 3 4 5 6; do (
			x=$(head -c 20000000 /dev/zero | tr '\0' x); echo >all.$i
			until [ -e all.1 ] && [ -e all.2 ] && [ -e all.3 ] && [ -e all.4 ] && [ -e all.5 ] && [ -e all.6 ]; do :; done
			echo ${#x}) & done; wait; rm all.*`},
		limits:  fixed(sandbox.Limits{Memory: 100 << 20}),
		cameOff: says(strings.Repeat("20000000\n", 6))},
	{kind: "memory", name: "fill /dev/shm",
		free:    sandbox.Command{Shell: "f=/dev/shm/rath-$$; head -c 70000000 /dev/zero >$f; wc -c <$f; rm $f"},
		cameOff: says("70000000\n")},
	{kind: "disk", name: "a huge file", limit: "Limits.FileSize",
		free:    sandbox.Command{Shell: "head -c 10000000 /dev/zero >huge; wc -c <huge; rm huge"},
		limits:  fixed(sandbox.Limits{FileSize: 1 << 20}),
		cameOff: says("10000000\n")},
	{kind: "disk", name: "many files",
		free:    sandbox.Command{Shell: "for i in 1 2 3 4; do head -c 1000000 /dev/zero >many.$i; done; cat many.* | wc -c; rm many.*"},
		limits:  fixed(sandbox.Limits{FileSize: 1 << 20}),
		cameOff: says("4000000\n")},
	{kind: "disk", name: "many open files", limit: "Limits.OpenFiles",
		free:    sandbox.Command{Shell: "tee $(seq -f open.%g 40) </dev/null; echo $?; rm open.*"},
		limits:  fixed(sandbox.Limits{OpenFiles: 20}),
		cameOff: says("0\n")},
	{kind: "huge output", name: "huge output", limit: "Command.MaxOutput",
		free:    sandbox.Command{Shell: "head -c 20000000 /dev/zero", MaxOutput: 1 << 25},
		limited: sandbox.Command{Shell: "head -c 20000000 /dev/zero"},
		cameOff: func(r sandbox.Result) bool { return len(r.Stdout) > 2<<20 }},
	{kind: "terminals", name: "escape sequences in output",
		free:    sandbox.Command{Shell: `printf '\033]0;title\a\033[2J'`},
		cameOff: says("\x1b]0;title\a\x1b[2J")},
}

// crowd starts 400 processes, or as many as there may be.
const crowd = `i=0; while [ $i -lt 400 ]; do sleep 1000 & i=$((i+1)); done; echo all; kill $(jobs -p) 2>/dev/null`

func says(text string) func(sandbox.Result) bool {
	return func(r sandbox.Result) bool { return r.Stdout == text }
}

func fixed(l sandbox.Limits) func(*testing.T) sandbox.Limits {
	return func(*testing.T) sandbox.Limits { return l }
}

// ownTasks is how many threads the user has, where these count; the superuser's do not.
func ownTasks(t *testing.T) (n int) {
	t.Helper()
	if os.Geteuid() == 0 {
		return 0
	}
	tasks, err := filepath.Glob("/proc/[0-9]*/task/*")
	must(t, err)
	for _, name := range tasks {
		if info, err := os.Stat(name); err == nil && info.Sys().(*syscall.Stat_t).Uid == uint32(os.Geteuid()) {
			n++
		}
	}
	return n
}

func (d drain) observe(t *testing.T, level string) string {
	t.Helper()
	run := func(c sandbox.Command, limits sandbox.Limits) bool {
		opts := &local.Options{Policy: sandbox.Policy{Limits: limits}}
		s := openAt(t, level, opts)
		defer s.Close()
		r, err := s.Exec(t.Context(), c)
		must(t, err)
		t.Logf("%s, %+v: %d bytes, exit code %d, %.200s", d.name, limits, len(r.Stdout), r.ExitCode, r.Stderr)
		return d.cameOff(r)
	}
	limits, limited := sandbox.Limits{}, d.limited
	if d.limits != nil {
		limits = d.limits(t)
	}
	if limited.Shell == "" {
		limited = d.free
	}
	switch {
	case !run(d.free, sandbox.Limits{}):
		return stopped
	case d.limit == "":
		if d.limits != nil && !run(limited, limits) {
			t.Errorf("%s is limited after all", d.name)
		}
		return notStopped
	case run(limited, limits):
		return notStopped
	}
	return "limited by " + d.limit
}

// outlives reports whether a process lives on that has left its group, and wiped the
// environment by which it would be found.
func outlives(t *testing.T, level string, cancels bool) string {
	t.Helper()
	word := fmt.Sprintf("1000.%d", os.Getpid())
	s := openAt(t, level, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := s.Exec(ctx, sandbox.Command{Shell: "setsid env -i sleep " + word + " & sleep 1000"})
		ended <- err
	}()
	until(t, func() bool { return len(sleepers(word)) == 1 })
	if cancels {
		cancel()
	} else {
		must(t, s.Close())
	}
	defer cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, sandbox.ErrClosed) {
		t.Fatal(err)
	}
	for end := time.Now().Add(500 * time.Millisecond); ; time.Sleep(time.Millisecond) {
		left := sleepers(word)
		if len(left) == 0 {
			return stopped
		}
		if time.Now().After(end) {
			must(t, syscall.Kill(left[0], syscall.SIGKILL))
			return notStopped
		}
	}
}

// sleepers are the processes that sleep for a time.
func sleepers(word string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is sound
	for _, name := range files {
		if data, _ := os.ReadFile(name); string(data) == "sleep\x00"+word+"\x00" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			pids = append(pids, pid)
		}
	}
	return pids
}

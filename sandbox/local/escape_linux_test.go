package local_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"golang.org/x/sys/unix"
)

// What became of an attempt. One that a limit of the policy ends is "limited by" that.
const (
	stopped    = "stopped"
	notStopped = "open"
	unknown    = "–" // it could not be made here
)

var (
	confined = []string{sandbox.LevelLandlock, sandbox.LevelBubblewrap}
	users    = []string{"root", "user"}
)

// results are by attempt and column of the table.
type results map[string]map[string]string

func (r results) set(name, column, result string) {
	if r[name] == nil {
		r[name] = map[string]string{}
	}
	r[name][column] = result
}

func column(level, user string) string { return level + ", " + user }

// TestEscape makes every attempt at every level, as the superuser and as an ordinary
// user, and compares what becomes of it with the table in docs/security.md.
func TestEscape(t *testing.T) {
	table := readTable(t)
	seen := results{}
	t.Run("as", func(t *testing.T) {
		var mu sync.Mutex
		for _, user := range users {
			t.Run(user, func(t *testing.T) {
				if user == "root" && os.Geteuid() != 0 {
					t.Skip("only the superuser can be the superuser")
				}
				t.Parallel()
				rows := observeAs(t, user)
				mu.Lock()
				defer mu.Unlock()
				for name, row := range rows {
					for col, result := range row {
						seen.set(name, col, result)
					}
				}
			})
		}
	})
	if *update && !t.Failed() {
		table.write(t, seen)
	}
	table.compare(t, seen)
}

// observeAs has another process of this test make the attempts as a user, at a terminal:
// only a process of its own can have these.
func observeAs(t *testing.T, user string) (seen results) {
	t.Helper()
	dir := shortTemp(t)
	must(t, os.Chmod(dir, 0o755)) // the attempts are made below it, by the user
	program := filepath.Join(dir, "local.test")
	data, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(program, data, 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "tmp"), 0o755))
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestObserve$", "-test.v")
	cmd.Dir = filepath.Join(dir, "tmp")
	cmd.Env = append(os.Environ(), "TMPDIR="+cmd.Dir, "HOME="+cmd.Dir, observeEnv+"="+user, "RATH_TEST_KEY="+theKey)
	if cmd.Stdin, err = os.OpenFile(terminal(t), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	defer cmd.Stdin.(*os.File).Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if user == "user" && os.Geteuid() == 0 {
		id := freeUser(t)
		must(t, os.Chown(cmd.Dir, id, id))
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}
	}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	must(t, err)
	data, err = os.ReadFile(filepath.Join(cmd.Dir, observed))
	must(t, err)
	must(t, json.Unmarshal(data, &seen))
	return seen
}

const (
	observeEnv = "RATH_TEST_OBSERVE"
	observed   = "observed.json"
)

// freeUser is an ordinary user who has no processes.
func freeUser(t *testing.T) int {
	t.Helper()
	taken := map[uint32]bool{}
	files, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, name := range files {
		if info, err := os.Stat(name); err == nil {
			taken[info.Sys().(*syscall.Stat_t).Uid] = true
		}
	}
	for id := 61000; ; id++ {
		if !taken[uint32(id)] {
			return id
		}
	}
}

// TestObserve makes the attempts as the user that it runs as, for TestEscape.
func TestObserve(t *testing.T) {
	user := os.Getenv(observeEnv)
	if user == "" {
		t.Skip("it is a part of TestEscape")
	}
	seen := results{}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			observe(t, level, func(name, result string) { seen.set(name, column(level, user), result) })
		})
	}
	data, err := json.Marshal(seen)
	must(t, err)
	must(t, os.WriteFile(observed, data, 0o600))
}

func observe(t *testing.T, level string, is func(name, result string)) {
	openAt(t, level, nil) // or skip
	at := setStage(t)
	opts := &local.Options{}
	if level != sandbox.LevelHost {
		opts.Policy.ReadOnly = []string{filepath.Join(at.Outside, "readonly")}
	}
	s := openAt(t, level, opts)
	for name, result := range attack(t, s, at) {
		if level == sandbox.LevelHost && result == stopped && hardened(name) {
			result = unknown
		}
		is(name, result)
	}
	for _, a := range byTools {
		err := a.ask(t, s, at)
		t.Logf("%-50s %v", a.name, err)
		is(a.name, outcome(err))
	}
	for _, d := range drains {
		is(d.name, d.observe(t, level))
	}
	is("outlive a cancelled command", outlives(t, level, true))
	is("outlive the sandbox", outlives(t, level, false))
}

// hardened reports whether this machine is set up to refuse even ordinary programs what
// others let them do, so that an attempt says nothing about the level "host".
func hardened(name string) bool {
	set := func(setting string) bool {
		data, err := os.ReadFile("/proc/sys/kernel/" + setting)
		return err == nil && strings.TrimSpace(string(data)) != "0"
	}
	switch kindOf(name) {
	case "ptrace", "environment":
		return set("yama/ptrace_scope")
	case "mounts and namespaces":
		return set("apparmor_restrict_unprivileged_userns")
	case "the kernel", "set-user-id and capabilities", "devices", "/proc and /sys", "TCP, UDP, raw, ICMP":
		return !fullRights()
	}
	return false
}

// fullRights reports whether the superuser is one here, and not that of a container.
func fullRights() bool {
	var has [2]unix.CapUserData
	err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &has[0])
	return os.Geteuid() != 0 || err == nil && has[0].Effective == ^uint32(0)
}

// attack has a command make the attempts and returns what became of them.
func attack(t *testing.T, s *sandbox.Sandbox, at stage) map[string]string {
	t.Helper()
	dir := s.Placement().Spec.WorkingDir
	program, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "attacker"), program, 0o700))
	furnish(t, dir)
	r, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"./attacker"}, Env: at.environ(s.Placement().Level)})
	if err != nil || r.ExitCode != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	out := map[string]string{}
	for line := range strings.Lines(r.Stdout) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("the attacker says %q", line)
		}
		out[f[0]] = f[1]
		t.Logf("%-50s %s: %s", f[0], f[1], f[2])
	}
	for _, k := range inside {
		for _, a := range k.attempts {
			if a.seen == nil {
				continue
			}
			if out[a.name] = stopped; a.seen(at) {
				out[a.name] = notStopped
			}
		}
	}
	return out
}

// byTools are attempts that a model makes with the tools for files, or with what these
// and commands do together.
var byTools = []struct {
	kind, name string
	ask        func(*testing.T, *sandbox.Sandbox, stage) error
}{
	{"paths", "file tools: read an absolute path", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return readTool(t, s, at.Outside+"/secret")
	}},
	{"paths", "file tools: read by ..", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return readTool(t, s, upwards+at.Outside[1:]+"/secret")
	}},
	{"paths", "file tools: read by a link", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return throughLink(t, s, at, func(name string) error { return readTool(t, s, name+"/secret") })
	}},
	{"paths", "file tools: write by a link", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return throughLink(t, s, at, func(name string) error { return s.WriteFile(t.Context(), name+"/victim", nil) })
	}},
	{"paths", "file tools: remove by a link", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return throughLink(t, s, at, func(name string) error { return s.Remove(t.Context(), name+"/readonly") })
	}},
	{"paths", "file tools: list by a link", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return throughLink(t, s, at, func(name string) error { _, err := s.List(t.Context(), name); return err })
	}},
	{"/proc and /sys", "file tools: read by /proc/self/root", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return readTool(t, s, "/proc/self/root"+at.Outside+"/secret")
	}},
	{"devices", "file tools: read a device", func(t *testing.T, s *sandbox.Sandbox, _ stage) error {
		if ok, _ := s.Exists(t.Context(), "zero"); !ok {
			return errNone
		}
		_, _, err := s.ReadRange(t.Context(), "zero", 0, 16)
		return err
	}},
	{"symlink races", "swap a folder while a file tool reads below it", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return racing(t, s, at, func() bool { return readTool(t, s, "swap/secret") == nil })
	}},
	{"symlink races", "swap a folder while a file tool writes below it", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return racing(t, s, at, func() bool {
			_ = s.WriteFile(t.Context(), "swap/written", nil)
			return exists("written")(at)
		})
	}},
	{"symlink races", "swap a folder while a file tool lists it", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return racing(t, s, at, func() bool {
			entries, _ := s.List(t.Context(), "swap")
			return slices.ContainsFunc(entries, func(e sandbox.Entry) bool { return e.Name == "readonly" })
		})
	}},
	{"symlink races", "swap a folder while a file tool removes it", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return racing(t, s, at, func() bool {
			_ = s.Remove(t.Context(), "swap/mode")
			return !exists("mode")(at)
		})
	}},
	{"symlink races", "swap a folder while a command starts in it", func(t *testing.T, s *sandbox.Sandbox, at stage) error {
		return racing(t, s, at, func() bool {
			r, _ := s.Exec(t.Context(), sandbox.Command{Shell: "for i in 1 2 3 4 5 6 7 8; do cat secret; done", Dir: "swap"})
			return strings.Contains(r.Stdout, "outside")
		})
	}},
}

func readTool(t *testing.T, s *sandbox.Sandbox, name string) error {
	data, err := s.ReadFile(t.Context(), name)
	if err == nil && string(data) != "outside" {
		err = errors.New("another file")
	}
	return err
}

// throughLink does something through a link that a command has made.
func throughLink(t *testing.T, s *sandbox.Sandbox, at stage, do func(name string) error) error {
	t.Helper()
	_, err := s.Exec(t.Context(), sandbox.Command{Args: []string{"ln", "-sfn", at.Outside, "tool-link"}})
	must(t, err)
	return do("tool-link")
}

// racing does something while a folder of the workspace trades places with a link to the
// outside.
func racing(t *testing.T, s *sandbox.Sandbox, at stage, cameOff func() bool) error {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(at.Outside, "mode"), nil, 0o600))
	return swapped(s.Placement().Spec.WorkingDir, at.Outside, cameOff)
}

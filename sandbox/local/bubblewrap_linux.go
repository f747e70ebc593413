package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
	"golang.org/x/sys/unix"
)

// What bwrap inherits, beside the gate. The shell inside closes what it still finds of it.
const (
	wrapCollarFD = gateFD + 1
	wrapFilterFD = gateFD + 2
	wrapPinFD    = gateFD + 3 // and on: folders that must not be moved
	maxPins      = 9 - wrapPinFD + 1
)

// bubblewrap runs each command in namespaces of its own.
type bubblewrap struct {
	host
	box     *box
	program string
	filter  []byte
	scratch *scratch
	home    string
	system  []string // arguments for what is the same each time
}

// probeBubblewrap has bwrap do what commands need of it.
func probeBubblewrap(ctx context.Context) error {
	refusal := &driver.PolicyError{Level: driver.LevelBubblewrap}
	program, err := exec.LookPath("bwrap")
	if err != nil {
		refusal.Reason = "there is no program bwrap here"
		refusal.Remedy = "install bubblewrap: apt-get install bubblewrap, dnf install bubblewrap, apk add bubblewrap"
		return refusal
	}
	if _, err := newFilter(driver.LevelBubblewrap, driver.NetworkDeny); err != nil {
		refusal.Reason, refusal.Remedy = err.Error(), "use one of the architectures that Linux filters system calls on"
		return refusal
	}
	args := append(wrapNamespaces(driver.NetworkDeny), wrapSystem()...)
	args = append(args, wrapDevices()...)
	cmd := exec.CommandContext(ctx, program, append(args, "--", "/bin/sh", "-c", ":")...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		refusal.Reason = "bwrap fails: " + strings.TrimSpace(string(out)+" "+err.Error())
		refusal.Remedy = wrapRemedy(out)
		return refusal
	}
	return nil
}

func wrapRemedy(out []byte) string {
	switch {
	case bytes.Contains(out, []byte("nknown option")):
		return "install bubblewrap 0.8 or later"
	case bytes.Contains(out, []byte("/proc")):
		return "a container hides parts of /proc: start it with these unmasked, as with --security-opt systempaths=unconfined"
	}
	return "allow user namespaces: kernel.unprivileged_userns_clone=1, user.max_user_namespaces above 0, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for bwrap; in a container, a seccomp profile that allows them"
}

func newBubblewrap(b *box) (cage, error) {
	program, err := exec.LookPath("bwrap")
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return nil, err
	}
	filter, err := newFilter(driver.LevelBubblewrap, b.policy.Network)
	if err != nil {
		return nil, err
	}
	w := &bubblewrap{box: b, program: program, filter: encoded(filter)}
	if err := w.refuse(); err != nil {
		return nil, err
	}
	if w.scratch, err = newScratch(); err != nil {
		return nil, err
	}
	if err := w.furnish(); err != nil {
		w.scratch.close()
		return nil, err
	}
	w.home, _ = b.getenv("HOME")
	if w.home = filepath.Clean(w.home); !filepath.IsAbs(w.home) || w.home == "/" || inSystem(w.home) {
		w.home = "/tmp"
	}
	return w, nil
}

// refuse says what of a policy this bwrap cannot do.
func (w *bubblewrap) refuse() error {
	pins := w.pins()
	refusal := &driver.PolicyError{Level: driver.LevelBubblewrap}
	if len(pins) > maxPins {
		refusal.Missing, refusal.Reason = "so many paths inside the workspace", fmt.Sprintf("they are in %d folders, and %d can be kept in place", len(pins), maxPins)
		refusal.Remedy = "name whole folders, or fewer paths"
		return refusal
	}
	if len(pins) == 0 {
		return nil
	}
	help, _ := exec.Command(w.program, "--help").CombinedOutput()
	if !bytes.Contains(help, []byte("--bind-fd")) {
		refusal.Missing, refusal.Reason = "that "+pins[0]+" stays in place", "this bwrap has no --bind-fd"
		refusal.Remedy = "install bubblewrap 0.10 or later, or keep what is hidden or read-only outside the workspace"
		return refusal
	}
	return nil
}

// furnish prepares what is the same for all commands.
func (w *bubblewrap) furnish() error {
	dirs, err := w.scratch.settings()
	if err != nil {
		return err
	}
	w.system = append(wrapSystem(), "--ro-bind", w.scratch.etc(), "/etc")
	for _, dir := range dirs {
		w.system = append(w.system, "--ro-bind", dir, dir)
	}
	return nil
}

func inSystem(name string) bool {
	for _, dir := range append(systemPaths(), "/proc", "/dev", "/etc", "/tmp") {
		if within(name, dir) {
			return true
		}
	}
	return false
}

func wrapNamespaces(network driver.Network) []string {
	args := []string{"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox", "--cap-drop", "ALL"}
	if network != driver.NetworkAllow {
		args = append(args, "--unshare-net")
	}
	if os.Geteuid() != 0 {
		return append(args, "--unshare-user")
	}
	// In a user namespace, the superuser would be a stranger to the files of others.
	return append(args, "--cap-add", "CAP_DAC_OVERRIDE", "--cap-add", "CAP_FOWNER", "--cap-add", "CAP_CHOWN")
}

// wrapDevices are the kernel's files. The superuser could write to /proc/sys without any
// capability, if it were not read-only.
func wrapDevices() []string {
	return []string{"--proc", "/proc", "--remount-ro", "/proc", "--dev", "/dev", "--size", strconv.Itoa(64 << 20), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"}
}

// wrapSystem are the system's programs.
func wrapSystem() (args []string) {
	for _, name := range systemPaths() {
		if within(name, "/etc") {
			continue
		}
		if link, err := os.Readlink(name); err == nil && filepath.Dir(name) == "/" {
			args = append(args, "--symlink", link, name)
		} else {
			args = append(args, "--ro-bind-try", name, name)
		}
	}
	return args
}

func (w *bubblewrap) collar() int { return wrapCollarFD }

// prologue closes what bwrap has left open: a folder opened outside leads outside.
func (w *bubblewrap) prologue() string { return "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-\n" }

func (w *bubblewrap) environ() []string { return []string{"HOME=" + w.home, "TMPDIR=/tmp"} }

func (w *bubblewrap) close() { w.scratch.close() }

func (w *bubblewrap) capable(c *capabilities) {
	c.FileDeny, c.PIDHide, c.SignalDeny, c.SyscallDeny = true, true, true, true
	c.NetDeny, c.NetLoopback = w.box.policy.Network != driver.NetworkAllow, w.box.policy.Network == driver.NetworkLoopback
}

// wrap makes a command line of bwrap around a command.
func (w *bubblewrap) wrap(cmd *exec.Cmd) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	filter, err := preset(w.filter)
	if err != nil {
		return files, err
	}
	files = append(files, filter)
	args := []string{w.program, "--sync-fd", strconv.Itoa(wrapCollarFD), "--seccomp", strconv.Itoa(wrapFilterFD)}
	args = append(args, wrapNamespaces(w.box.policy.Network)...)
	args = append(args, w.system...)
	args = append(args, w.binds()...)
	for i, name := range w.pins() {
		f, err := w.box.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = os.Open(os.DevNull) // keeps the numbers in order
			if err != nil {
				return files, err
			}
			files = append(files, f)
			continue
		}
		if err != nil {
			return files, fmt.Errorf("keep %s in place: %w", name, plain(err))
		}
		files = append(files, f)
		args = append(args, "--bind-fd", strconv.Itoa(wrapPinFD+i), w.box.seen(filepath.Join(w.box.dir, name)))
	}
	args = append(args, w.masks()...)
	args = append(args, wrapDevices()...)
	args = append(args, "--remount-ro", "/", "--chdir", w.box.seen(cmd.Dir), "--")
	cmd.Args = append(args, cmd.Args...)
	cmd.Path, cmd.Err = w.program, nil
	cmd.Dir = "/"
	cmd.ExtraFiles = append(cmd.ExtraFiles, files...)
	return files, nil
}

// preset is a pipe that a text has been written to.
func preset(text []byte) (*os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	_, err = w.Write(text) // less than what a pipe holds
	return r, errors.Join(err, w.Close())
}

// binds are the files of the sandbox, those of an outer folder first.
func (w *bubblewrap) binds() []string {
	type bind struct{ flag, from, to string }
	list := []bind{{"--bind", w.scratch.home(), w.home}, {"--bind", w.scratch.tmp(), "/tmp"}}
	if w.home == "/tmp" {
		list = list[1:]
	}
	add := func(flag string, paths []place) {
		for _, p := range paths {
			for _, name := range w.box.shown(p) {
				list = append(list, bind{flag, p.real, name})
			}
		}
	}
	add("--bind", w.box.writable)
	add("--ro-bind", w.box.readOnly)
	slices.SortStableFunc(list, func(a, b bind) int { return strings.Count(a.to, "/") - strings.Count(b.to, "/") })
	var args []string
	for _, b := range list {
		args = append(args, b.flag, b.from, b.to)
	}
	return args
}

// pins are the folders of the workspace that lead to something hidden or read-only. Each
// is mounted on itself, for what is mounted cannot be moved: a command could otherwise
// give a folder another name, and the next one would find the files under that.
func (w *bubblewrap) pins() []string {
	var pins []string
	add := func(name string) {
		rel, err := filepath.Rel(w.box.dir, name)
		if err != nil || !filepath.IsLocal(rel) {
			return
		}
		for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
			if !slices.Contains(pins, dir) {
				pins = append(pins, dir)
			}
		}
	}
	for _, name := range w.box.hidden {
		add(landing(name))
		add(target(name))
	}
	for _, p := range w.box.readOnly {
		add(p.real)
	}
	slices.SortFunc(pins, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return pins
}

// masks cover what is hidden, and what in the workspace may only be read, once the
// folders on the way are in place.
func (w *bubblewrap) masks() (args []string) {
	for _, p := range w.box.readOnly {
		if !within(p.real, w.box.dir) {
			continue
		}
		for _, view := range w.views(p.real) {
			args = append(args, "--ro-bind", p.real, view)
		}
	}
	for _, name := range w.box.hidden {
		name = target(name)
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		for _, view := range w.views(name) {
			if info.IsDir() {
				args = append(args, "--tmpfs", view, "--remount-ro", view)
			} else {
				args = append(args, "--ro-bind", os.DevNull, view)
			}
		}
	}
	return args
}

// views are all the names under which commands would find a file: a folder that goes by
// two is mounted twice, and what covers a file in one mount does not cover it in the other.
func (w *bubblewrap) views(name string) (views []string) {
	for _, p := range slices.Concat(w.box.readOnly, w.box.writable) {
		rel, err := filepath.Rel(p.real, name)
		switch {
		case err == nil && filepath.IsLocal(rel):
			for _, dir := range w.box.shown(p) {
				views = append(views, filepath.Join(dir, rel))
			}
		case within(p.real, name):
			views = append(views, name)
		}
	}
	slices.Sort(views)
	return slices.Compact(views)
}

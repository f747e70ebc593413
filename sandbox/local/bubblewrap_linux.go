package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
	"golang.org/x/sys/unix"
)

// What bwrap inherits, beside the gate. It closes what it has used, and the shell inside
// what it still finds of it.
const (
	wrapCollarFD = gateFD + 1
	wrapFilterFD = gateFD + 2
	wrapArgsFD   = gateFD + 3
	wrapPinFD    = gateFD + 4 // and on: folders that must not be moved
	maxPins      = 32
)

// bubblewrap runs each command in namespaces of its own.
type bubblewrap struct {
	host
	box     *box
	program string
	filter  []byte
	scratch *scratch
	home    string
	always  []mount // what is there for every command
}

// probeBubblewrap has bwrap do what commands need of it.
func probeBubblewrap(ctx context.Context, program string) error {
	refusal := &driver.PolicyError{Level: driver.LevelBubblewrap}
	if _, err := newFilter(driver.LevelBubblewrap, driver.NetworkDeny); err != nil {
		refusal.Reason, refusal.Remedy = err.Error(), "use one of the architectures that Linux filters system calls on"
		return refusal
	}
	args := wrapNamespaces(driver.NetworkDeny)
	for _, m := range systemMounts() {
		args = append(args, m.args()...)
	}
	args = append(args, wrapDevices()...)
	cmd := exec.CommandContext(ctx, program, append(args, "--", "/bin/sh", "-c", ":")...)
	cmd.Env = outerEnviron
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

func newBubblewrap(ctx context.Context, b *box) (cage, error) {
	program, err := findWrap(b.changed())
	if err != nil {
		return nil, err
	}
	if err := probeBubblewrap(ctx, program); err != nil {
		return nil, err
	}
	filter, err := newFilter(driver.LevelBubblewrap, b.policy.Network)
	if err != nil {
		return nil, err
	}
	w := &bubblewrap{box: b, program: program, filter: encoded(filter)}
	if err := b.refuseBubblewrap(); err != nil {
		return nil, err
	}
	if w.scratch, err = newScratch(); err != nil {
		return nil, err
	}
	if err := w.furnish(); err != nil {
		w.scratch.close()
		return nil, err
	}
	return w, nil
}

// refuseBubblewrap says what of a policy namespaces cannot express.
func (b *box) refuseBubblewrap() error {
	refusal := &driver.PolicyError{Level: driver.LevelBubblewrap}
	for _, p := range b.readOnly {
		if within(p.real, "/proc") || within(p.real, "/dev") {
			refusal.Missing, refusal.Reason = p.name+" as read-only", "commands have a "+topmost(p.real)+" of their own"
			refusal.Remedy = "leave it out"
			return refusal
		}
	}
	for _, p := range b.writable {
		if top := topmost(p.real); top == "/" || top == "/proc" || top == "/sys" || top == "/dev" {
			refusal.Missing, refusal.Reason = p.name+" as writable", top+" holds what commands are kept from"
			refusal.Remedy = "name a folder of files"
			return refusal
		}
	}
	return b.refuseHidden(refusal, func(name, system string) bool { return within(system, name) })
}

// topmost is the folder of the root that a name is in, or the root.
func topmost(name string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(name, "/"), "/")
	return "/" + first
}

// furnish prepares what is the same for all commands, and sees whether this bwrap can do
// the rest.
func (w *bubblewrap) furnish() error {
	dirs, err := w.scratch.settings()
	if err != nil {
		return err
	}
	w.home, _ = w.box.getenv("HOME")
	if w.home = filepath.Clean(w.home); !filepath.IsAbs(w.home) || w.home == "/" || inSystem(w.home) {
		w.home = "/tmp"
	}
	w.always = append(systemMounts(), mount{bindReadOnly, w.scratch.etc(), "/etc"})
	for _, dir := range dirs {
		w.always = append(w.always, mount{bindReadOnly, dir, dir})
	}
	w.always = append(w.always, mount{bind, w.scratch.home(), w.home}, mount{bind, w.scratch.tmp(), "/tmp"})
	return w.refusePins()
}

func (w *bubblewrap) refusePins() error {
	var pins []string
	for _, m := range w.layout() {
		if m.flag == pin {
			pins = append(pins, m.to)
		}
	}
	if len(pins) == 0 {
		return nil
	}
	refusal := &driver.PolicyError{Level: driver.LevelBubblewrap}
	if len(pins) > maxPins {
		refusal.Missing, refusal.Reason = "so many paths inside folders that commands may write", fmt.Sprintf("they are in %d folders, and %d can be kept in place", len(pins), maxPins)
		refusal.Remedy = "name whole folders, or fewer paths"
		return refusal
	}
	help := exec.Command(w.program, "--help")
	help.Env = outerEnviron
	out, _ := help.CombinedOutput()
	if !bytes.Contains(out, []byte("--bind-fd")) {
		refusal.Missing, refusal.Reason = "that "+pins[0]+" stays in place", "this bwrap has no --bind-fd"
		refusal.Remedy = "install bubblewrap 0.10 or later, or keep what is hidden or read-only outside of what commands may write"
		return refusal
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

func (w *bubblewrap) collar() int { return wrapCollarFD }

// prologue closes what bwrap has left open: a folder opened outside leads outside.
func (w *bubblewrap) prologue() string { return "exec 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-\n" }

func (w *bubblewrap) environ() []string { return []string{"HOME=" + w.home, "TMPDIR=/tmp"} }

func (w *bubblewrap) close() { w.scratch.close() }

func (w *bubblewrap) capable(c *capabilities) {
	c.FileDeny, c.PIDHide, c.SignalDeny, c.SyscallDeny = true, true, true, true
	c.NetDeny, c.NetLoopback = w.box.policy.Network != driver.NetworkAllow, w.box.policy.Network == driver.NetworkLoopback
}

// wrap makes a command line of bwrap around a command. What bwrap is told goes by files,
// which others do not see; the command's variables do not act on bwrap itself.
func (w *bubblewrap) wrap(cmd *exec.Cmd) (files []*os.File, err error) {
	defer func() {
		if err != nil {
			closeAll(files)
			files = nil
		}
	}()
	args := []string{"--sync-fd", strconv.Itoa(wrapCollarFD), "--seccomp", strconv.Itoa(wrapFilterFD)}
	args = append(args, wrapNamespaces(w.box.policy.Network)...)
	mounts, pins, err := mountArgs(w.layout())
	files = append([]*os.File{nil, nil}, pins...)
	if err != nil {
		return files, err
	}
	args = append(args, mounts...)
	args = append(args, wrapDevices()...)
	args = append(args, "--remount-ro", "/", "--chdir", w.box.seen(cmd.Dir))
	variables, err := wrapEnviron(cmd.Env)
	if err != nil {
		return files, err
	}
	if files[0], err = preset(w.filter); err != nil {
		return files, err
	}
	if files[1], err = inMemory(strings.Join(append(args, variables...), "\x00") + "\x00"); err != nil {
		return files, err
	}
	cmd.Args = append([]string{w.program, "--args", strconv.Itoa(wrapArgsFD), "--"}, cmd.Args...)
	cmd.Path, cmd.Err = w.program, nil
	cmd.Env = append(outerEnviron[:len(outerEnviron):len(outerEnviron)], marks(cmd.Env)...)
	cmd.Dir = "/"
	cmd.ExtraFiles = append(cmd.ExtraFiles, files...)
	return files, nil
}

// wrapEnviron has bwrap set the command's variables.
func wrapEnviron(variables []string) ([]string, error) {
	args := []string{"--clearenv"}
	for _, v := range variables {
		if strings.ContainsRune(v, 0) {
			return nil, fmt.Errorf("the environment variable %q: %w", v, fs.ErrInvalid)
		}
		if name, value, ok := strings.Cut(v, "="); ok && name != "" {
			args = append(args, "--setenv", name, value)
		}
	}
	return args, nil
}

// inMemory is an open file without a name that holds a text.
func inMemory(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("arguments", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "arguments")
	if _, err = f.WriteString(text); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
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

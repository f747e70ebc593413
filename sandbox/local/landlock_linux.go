package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/openrath-go/rath/sandbox/driver"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// landlockVersion is the first that keeps commands from signalling other processes. What
// older ones lack would have to be said for each.
const landlockVersion = 6

const (
	mayRead = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	mayEdit = mayRead | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym | ll.AccessFSRefer
	mayUse = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev // a device

	ofFiles = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	handled = mayEdit | mayUse | ll.AccessFSMakeChar | ll.AccessFSMakeBlock
)

// devices are those that do nothing but give and take bytes.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// landlock starts commands from a thread that has given up its rights.
type landlock struct {
	host
	warden  *warden
	scratch *scratch
	network driver.Network
	used    atomic.Bool // a command was started
}

// probeLandlock says what is missing, if anything.
func probeLandlock() error {
	refusal := &driver.PolicyError{Level: driver.LevelLandlock}
	version, err := ll.LandlockGetABIVersion()
	switch {
	case errors.Is(err, unix.ENOSYS):
		refusal.Reason, refusal.Remedy = "this kernel has no Landlock", "use a kernel with CONFIG_SECURITY_LANDLOCK, Linux 6.12 or later"
	case errors.Is(err, unix.EOPNOTSUPP):
		refusal.Reason, refusal.Remedy = "Landlock is off in this kernel", "add landlock to the kernel's parameter lsm= and boot again"
	case err != nil:
		refusal.Reason, refusal.Remedy = "Landlock is out of reach: "+err.Error(), "allow the landlock system calls, which a container's seccomp profile may refuse"
	case version < landlockVersion:
		refusal.Reason = fmt.Sprintf("this kernel's Landlock is version %d and lets commands signal other processes", version)
		refusal.Remedy = fmt.Sprintf("use Linux 6.12 or later, with version %d", landlockVersion)
	default:
		if _, err := newFilter(driver.LevelLandlock, driver.NetworkDeny); err != nil {
			refusal.Reason, refusal.Remedy = err.Error(), "use one of the architectures that Linux filters system calls on"
			return refusal
		}
		return nil
	}
	return refusal
}

// refuseLandlock says what of a policy file rules cannot express: they allow whole
// folders, without exceptions.
func (b *box) refuseLandlock() error {
	refusal := &driver.PolicyError{Level: driver.LevelLandlock, Remedy: "use level " + driver.LevelBubblewrap}
	if b.policy.Network == driver.NetworkLoopback {
		refusal.Missing, refusal.Reason = "a loopback network", "commands would reach this machine's own services"
		return refusal
	}
	for _, p := range b.readOnly {
		if b.reachable(p.real, b.writable) {
			refusal.Missing, refusal.Reason = p.name+" as read-only", "it is inside a folder that commands may write"
			return refusal
		}
	}
	for _, name := range b.hidden {
		if b.readable(target(name)) || b.readable(landing(name)) {
			refusal.Missing, refusal.Reason = "that "+name+" is hidden", "it is inside a folder that commands may read"
			refusal.Remedy += ", or keep it elsewhere"
			return refusal
		}
	}
	return b.refuseHidden(refusal, func(name, system string) bool { return within(name, system) || within(system, name) })
}

// readable reports whether rules would let commands read something hidden. What contains
// the workspace is not granted by that.
func (b *box) readable(name string) bool {
	return slices.ContainsFunc(slices.Concat(b.readOnly, b.writable), func(p place) bool {
		return within(name, p.real) || within(p.real, name) && !(within(b.dir, name) && within(p.real, b.dir))
	})
}

func newLandlock(b *box) (_ cage, err error) {
	if err := b.refuseLandlock(); err != nil {
		return nil, err
	}
	filter, err := newFilter(driver.LevelLandlock, b.policy.Network)
	if err != nil {
		return nil, err
	}
	l := &landlock{network: b.policy.Network}
	if l.scratch, err = newScratch(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.scratch.close()
		}
	}()
	rules, err := ruleset(b.readOnly, append(b.writable, place{real: l.scratch.dir}))
	if err != nil {
		return nil, err
	}
	defer unix.Close(rules)
	l.warden, err = newWarden(func() error { return restrict(rules, filter) })
	return l, err
}

// restrict takes the calling thread's rights, for good.
func restrict(rules int, filter []bpf.RawInstruction) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := ll.LandlockRestrictSelf(rules, 0); err != nil {
		return fmt.Errorf("set the file rules: %w", err)
	}
	return filterThread(filter)
}

// strangers are processes outside that the program may signal.
func strangers() []int {
	return slices.DeleteFunc([]int{1, os.Getppid()}, func(pid int) bool {
		return pid <= 0 || pid == os.Getpid() || unix.Kill(pid, 0) != nil
	})
}

// hireStranger starts a process outside that does nothing.
func hireStranger() (pids []int, dismiss func()) {
	cmd := exec.Command("/bin/sh", "-c", "read -r line")
	cmd.Env = []string{}
	_, err := cmd.StdinPipe() // which keeps it waiting
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, func() {}
	}
	return []int{cmd.Process.Pid}, func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// alone reports whether the thread is seen not to reach any of some strangers. Much
// depends on that, so that the kernel's word is not enough.
func (l *landlock) alone(strangers []int) bool {
	free := len(strangers)
	_ = l.warden.do(func() error {
		for _, pid := range strangers {
			if unix.Kill(pid, 0) == unix.EPERM {
				free--
			}
		}
		return nil
	})
	return len(strangers) > 0 && free == 0
}

// ruleset makes the kernel's list of what may be reached.
func ruleset(readOnly, writable []place) (fd int, err error) {
	fd, err = ll.LandlockCreateRuleset(&ll.RulesetAttr{
		HandledAccessFS: handled, Scoped: ll.ScopeAbstractUnixSocket | ll.ScopeSignal,
	}, 0)
	if err != nil {
		return -1, fmt.Errorf("make the file rules: %w", err)
	}
	for _, name := range append(systemPaths(), "/proc") {
		err = errors.Join(err, allow(fd, name, mayRead, true))
	}
	for _, name := range devices {
		err = errors.Join(err, allow(fd, name, mayUse, true))
	}
	for _, p := range readOnly {
		err = errors.Join(err, allow(fd, p.real, mayRead, false))
	}
	for _, p := range writable {
		err = errors.Join(err, allow(fd, p.real, mayEdit, false))
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// allow adds a rule for a file, or for a folder and all in it.
func allow(rules int, name string, access uint64, optional bool) error {
	fd, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	if err := ll.LandlockAddPathBeneathRule(rules, &ll.PathBeneathAttr{AllowedAccess: access, ParentFd: fd}, 0); err != nil {
		return fmt.Errorf("allow %s: %w", name, err)
	}
	return nil
}

func (l *landlock) start(cmd *exec.Cmd) error {
	l.used.Store(true)
	keepFiles()
	return l.warden.do(cmd.Start)
}

// end kills all that was ever started here. From the thread, that is everyone: the kernel
// lets it signal nobody else, and leaves the program itself out.
func (l *landlock) end() {
	if !l.used.Load() {
		return
	}
	others := strangers()
	if len(others) == 0 { // another user's program has started this one
		hired, dismiss := hireStranger()
		defer dismiss()
		others = hired
	}
	if l.alone(others) {
		_ = l.warden.do(func() error { return unix.Kill(-1, unix.SIGKILL) })
	}
}

func (l *landlock) close() {
	l.warden.close()
	l.scratch.close()
}

func (l *landlock) environ() []string {
	return []string{"HOME=" + l.scratch.home(), "TMPDIR=" + l.scratch.tmp()}
}

func (l *landlock) capable(c *capabilities) {
	c.FileDeny, c.SignalDeny, c.SyscallDeny = true, true, true
	c.NetDeny = l.network == driver.NetworkDeny
}

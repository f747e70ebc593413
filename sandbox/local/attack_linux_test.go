package local_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stage is what the attempts are aimed at, made outside of the sandbox.
type stage struct {
	outside string // a folder with: secret, victim (writable), readonly/ and two sockets
	pid     int    // a process of the same user
	tcp     string
	udp     string
	name    string // an abstract socket
	shm     int    // the key of shared memory
}

func (s stage) environ() []string {
	return []string{
		"OUTSIDE=" + s.outside, "VICTIM=" + strconv.Itoa(s.pid),
		"TCP=" + s.tcp, "UDP=" + s.udp, "ABSTRACT=" + s.name, "SHM=" + strconv.Itoa(s.shm),
	}
}

func stageOf(getenv func(string) string) stage {
	pid, _ := strconv.Atoi(getenv("VICTIM"))
	shm, _ := strconv.Atoi(getenv("SHM"))
	return stage{getenv("OUTSIDE"), pid, getenv("TCP"), getenv("UDP"), getenv("ABSTRACT"), shm}
}

// helpAttack makes every attempt and says what became of it. It runs in a sandbox.
func helpAttack() {
	s := stageOf(os.Getenv)
	names := make([]string, 0, len(attempts))
	for name := range attempts {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if only := os.Getenv("ONLY"); only != "" && only != name {
			continue
		}
		if err := attempts[name](s); err != nil {
			fmt.Printf("%s\theld\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Printf("%s\tescaped\t\n", name)
		}
	}
}

// attempts return nil if they got out.
var attempts = map[string]func(stage) error{
	"read a file":                  func(s stage) error { return read(s.outside + "/secret") },
	"read /etc/shadow":             func(stage) error { return read("/etc/shadow") },
	"read by a link":               func(s stage) error { return readByLink(s.outside + "/secret") },
	"read by a link to a folder":   func(s stage) error { return readByLink(s.outside, "secret") },
	"read by /proc/self/root":      func(s stage) error { return read("/proc/self/root" + s.outside + "/secret") },
	"read by /proc/1/root":         func(s stage) error { return read("/proc/1/root" + s.outside + "/secret") },
	"read by /proc/PID/root":       func(s stage) error { return read(proc(s, "root"+s.outside+"/secret")) },
	"read by /proc/PID/cwd":        func(s stage) error { return read(proc(s, "cwd/secret")) },
	"read /proc/PID/environ":       func(s stage) error { return read(proc(s, "environ")) },
	"read /proc/PID/fd":            func(s stage) error { _, err := os.Readlink(proc(s, "fd/0")); return err },
	"read /proc/PID/maps":          func(s stage) error { return read(proc(s, "maps")) },
	"open /proc/PID/mem":           func(s stage) error { return openFile(proc(s, "mem"), unix.O_RDWR) },
	"list a folder":                func(s stage) error { return list(s.outside, "secret") },
	"list the root's home":         func(stage) error { return list("/root", "") },
	"create a file":                func(s stage) error { return later(os.WriteFile(s.outside+"/new", nil, 0o600)) },
	"overwrite a file":             func(s stage) error { return openFile(s.outside+"/victim", unix.O_WRONLY) },
	"truncate a file":              func(s stage) error { return os.Truncate(s.outside+"/victim", 1) },
	"truncate by opening":          func(s stage) error { return openFile(s.outside+"/victim", unix.O_RDONLY|unix.O_TRUNC) },
	"remove a file":                func(s stage) error { return os.Remove(s.outside + "/gone") },
	"make a folder":                func(s stage) error { return later(os.Mkdir(s.outside+"/folder", 0o700)) },
	"rename to the outside":        renameOut,
	"rename from the outside":      func(s stage) error { return os.Rename(s.outside+"/victim", "taken") },
	"link from the outside":        linkIn,
	"change a mode":                func(s stage) error { return os.Chmod(s.outside+"/mode", 0o777) },
	"change an owner":              func(s stage) error { return os.Chown(s.outside+"/mode", os.Getuid(), os.Getgid()) },
	"change a time":                func(s stage) error { return os.Chtimes(s.outside+"/mode", time.Now(), time.Unix(1, 0)) },
	"set an attribute":             func(s stage) error { return unix.Setxattr(s.outside+"/mode", "user.rath", []byte("x"), 0) },
	"write in a read-only path":    func(s stage) error { return create(s.outside + "/readonly/new") },
	"overwrite in a read-only one": func(s stage) error { return openFile(s.outside+"/readonly/file", unix.O_WRONLY) },
	"write to /usr":                func(stage) error { return create("/usr/rath-escape") },
	"write to /":                   func(stage) error { return create("/rath-escape") },
	"write to /etc":                func(stage) error { return openFile("/etc/passwd", unix.O_WRONLY) },
	"write a core pattern":         func(stage) error { return openFile("/proc/sys/kernel/core_pattern", unix.O_WRONLY) },
	"write to sysrq":               func(stage) error { return openFile("/proc/sysrq-trigger", unix.O_WRONLY) },
	"read kernel memory":           func(stage) error { return readSome("/proc/kcore") },
	"write to /sys":                func(stage) error { return openFile("/sys/kernel/uevent_helper", unix.O_WRONLY) },
	"make a device":                func(stage) error { return unix.Mknod("device", unix.S_IFCHR|0o600, 1<<8|1) },
	"make a block device":          func(stage) error { return unix.Mknod("block", unix.S_IFBLK|0o600, 254<<8) },
	"open a disk":                  func(stage) error { return openAny("/dev/vd*", "/dev/sd*", "/dev/nvme*", "/dev/mem", "/dev/kmsg") },
	"open a terminal":              func(stage) error { return openAny("/dev/tty", "/dev/pts/[0-9]*", "/dev/tty[0-9]*", "/dev/console") },
	"open by handle":               openByHandle,
	"leave by a descriptor":        leaveByDescriptor,
	"see a cgroup":                 func(stage) error { return create("/sys/fs/cgroup/rath-escape") },

	"TCP":                       func(s stage) error { return talk("tcp", s.tcp) },
	"its own loopback":          ownLoopback,
	"UDP":                       func(s stage) error { return talk("udp", s.udp) },
	"TCP to the internet":       func(stage) error { return talk("tcp", "1.1.1.1:443") },
	"DNS":                       func(stage) error { _, err := net.LookupHost("example.com"); return err },
	"abstract socket":           func(s stage) error { return talk("unix", "@"+s.name) },
	"unix socket":               func(s stage) error { return talk("unix", s.outside+"/socket") },
	"unix datagrams":            func(s stage) error { return talk("unixgram", s.outside+"/datagrams") },
	"datagrams by a pair":       datagramsByPair,
	"raw socket":                func(stage) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) },
	"packet socket":             func(stage) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) },
	"vsock":                     func(stage) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"kernel crypto socket":      func(stage) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) },
	"family with high bits":     func(stage) error { return socket(1<<32|unix.AF_VSOCK, unix.SOCK_STREAM, 0) },
	"x32 socket":                func(stage) error { return call(unix.SYS_SOCKET|0x40000000, unix.AF_VSOCK, unix.SOCK_STREAM) },
	"see the host's interfaces": seeInterfaces,
	"signal a process":          func(s stage) error { return unix.Kill(s.pid, 0) },
	"signal a thread":           func(s stage) error { return unix.Tgkill(s.pid, s.pid, 0) },
	"signal by pidfd":           signalByPidfd,
	"signal by a pipe":          signalByPipe,
	"signal everyone":           signalEveryone,
	"trace a process":           func(s stage) error { return unix.PtraceAttach(s.pid) },
	"trace by seizing":          func(s stage) error { return unix.PtraceSeize(s.pid) },
	"read a process's memory":   readMemory,
	"take a descriptor":         takeDescriptor,
	"limit a process":           limitProcess,
	"slow a process":            func(s stage) error { return unix.Setpriority(unix.PRIO_PROCESS, s.pid, 0) },
	"slow all of the user's":    func(stage) error { return slowAll() },
	"pin a process":             pinProcess,
	"see a process":             func(s stage) error { return see(s.pid) },
	"new user namespace":        func(stage) error { return unix.Unshare(unix.CLONE_NEWUSER) },
	"new mount namespace":       func(stage) error { return unix.Unshare(unix.CLONE_NEWNS) },
	"new network namespace":     func(stage) error { return unix.Unshare(unix.CLONE_NEWNET) },
	"clone a user namespace":    cloneNamespace,
	"clone3":                    func(stage) error { return call(unix.SYS_CLONE3, 0, 88) },
	"join a namespace":          joinNamespace,
	"mount":                     func(stage) error { return unix.Mount("none", ".", "tmpfs", 0, "") },
	"remount the root":          func(stage) error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
	"unmount":                   func(stage) error { return unix.Unmount("/proc", unix.MNT_DETACH) },
	"chroot":                    func(stage) error { return unix.Chroot(".") },
	"pivot the root":            func(stage) error { return unix.PivotRoot(".", ".") },
	"clone a mount":             func(stage) error { _, err := unix.OpenTree(unix.AT_FDCWD, ".", unix.OPEN_TREE_CLONE); return err },
	"new file system":           func(stage) error { _, err := unix.Fsopen("tmpfs", 0); return err },
	"add a key": func(stage) error {
		_, err := unix.AddKey("user", "rath", []byte("x"), unix.KEY_SPEC_SESSION_KEYRING)
		return err
	},
	"session keyring":      func(stage) error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); return err },
	"bpf":                  func(stage) error { return reaches(unix.SYS_BPF, 0, 0, 0) },
	"io_uring":             func(stage) error { return reaches(unix.SYS_IO_URING_SETUP, 1, 0) },
	"userfaultfd":          func(stage) error { return call(unix.SYS_USERFAULTFD, 1) },
	"perf events":          func(stage) error { return reaches(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
	"load a module":        func(stage) error { return reaches(unix.SYS_INIT_MODULE, 0, 0, 0) },
	"reboot":               func(stage) error { return reaches(unix.SYS_REBOOT, 0, 0, 0) },
	"swap":                 func(stage) error { return reaches(unix.SYS_SWAPON, 0, 0) },
	"kernel log":           func(stage) error { return call(unix.SYS_SYSLOG, 10) },
	"set the clock":        func(stage) error { return reaches(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, 0) },
	"set the host's name":  func(stage) error { return reaches(unix.SYS_SETHOSTNAME, 0, 1) },
	"I/O ports":            func(stage) error { return openFile("/dev/port", unix.O_RDONLY) },
	"shared memory":        func(s stage) error { return call(unix.SYS_SHMGET, uintptr(s.shm), 1, 0) },
	"an inherited folder":  inheritedFolder,
	"set-user-id by chmod": func(stage) error { return setID(func(f string) error { return unix.Chmod(f, 0o4755) }) },
	"set-user-id by fchmodat": func(stage) error {
		return setID(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) })
	},
	"set-user-id by open":        setIDByOpen,
	"capabilities":               capabilities,
	"gain by a set-user-id file": gainRights,
	"core dumps":                 coreDumps,
	"see secrets":                seeSecrets,
}

func proc(s stage, name string) string { return fmt.Sprintf("/proc/%d/%s", s.pid, name) }

func read(name string) error {
	_, err := os.ReadFile(name)
	return err
}

func readSome(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Read(make([]byte, 16))
	return err
}

func readByLink(target string, below ...string) error {
	_ = os.Remove("link")
	if err := os.Symlink(target, "link"); err != nil {
		return err
	}
	return read(filepath.Join(append([]string{"link"}, below...)...))
}

// list looks for a name in a folder: the sandbox may have another one in its place.
func list(name, want string) error {
	entries, err := os.ReadDir(name)
	if err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return want == "" || e.Name() == want }) {
		err = errors.New("another folder")
	}
	return err
}

// later is for what may have happened to another folder: the test will look.
func later(err error) error {
	if err == nil {
		err = errors.New("the test will tell")
	}
	return err
}

// slowAll sets the priority of all the user's processes to the one that this one has.
func slowAll() error {
	nice, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return err
	}
	return unix.Setpriority(unix.PRIO_USER, 0, 20-nice)
}

func openFile(name string, flags int) error {
	fd, err := unix.Open(name, flags|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

func openAny(patterns ...string) error {
	err := error(os.ErrNotExist)
	for _, p := range patterns {
		files, _ := filepath.Glob(p)
		for _, f := range files {
			if err = openFile(f, unix.O_RDONLY); err == nil {
				return nil
			}
		}
	}
	return err
}

func create(name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(f.Close(), os.Remove(name))
	}
	return err
}

func renameOut(s stage) error {
	if err := os.WriteFile("mine", nil, 0o600); err != nil {
		return err
	}
	return os.Rename("mine", s.outside+"/mine")
}

func linkIn(s stage) error {
	_ = os.Remove("linked")
	if err := os.Link(s.outside+"/secret", "linked"); err != nil {
		return err
	}
	return read("linked")
}

func openByHandle(s stage) error {
	handle, mount, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	if err != nil {
		return err
	}
	_ = mount
	at, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(at, handle, unix.O_RDONLY)
	return err
}

// leaveByDescriptor looks for an inherited folder that leads outside.
func leaveByDescriptor(s stage) error {
	for fd := 3; fd < 256; fd++ {
		at, err := unix.Openat(fd, strings.Repeat("../", 20)+s.outside[1:]+"/secret", unix.O_RDONLY, 0)
		if err == nil {
			return unix.Close(at)
		}
	}
	return errors.New("no descriptor leads there")
}

// inheritedFolder looks for any folder that was not opened here.
func inheritedFolder(stage) error {
	for fd := range 1024 {
		var info unix.Stat_t
		if unix.Fstat(fd, &info) == nil && info.Mode&unix.S_IFMT == unix.S_IFDIR {
			return nil
		}
	}
	return errors.New("none")
}

func talk(network, address string) error {
	c, err := net.DialTimeout(network, address, 2*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if network == "unixgram" {
		_, err := c.Write([]byte("hello"))
		return err
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write([]byte("hello")); err != nil {
		return err
	}
	if strings.HasSuffix(address, ":443") {
		return nil
	}
	_, err = io.ReadFull(c, make([]byte, 5))
	return err
}

// ownLoopback is no escape: it tells whether programs here can talk to each other.
func ownLoopback(stage) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err == nil {
		err = c.Close()
	}
	return err
}

func datagramsByPair(s stage) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte("hello"), 0, &unix.SockaddrUnix{Name: s.outside + "/datagrams"})
}

func socket(family, kind, proto uintptr) error {
	return call(unix.SYS_SOCKET, family, kind, proto)
}

func call(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.RawSyscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return errno
	}
	return nil
}

// reaches is for calls that must not succeed: an error other than that of a missing right
// shows that the kernel looked at the arguments.
func reaches(number uintptr, args ...uintptr) error {
	switch err := call(number, args...); err {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return err
	}
	return nil
}

func seeInterfaces(stage) error {
	all, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			return nil
		}
	}
	return errors.New("only loopback")
}

func signalByPidfd(s stage) error {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, 0, nil, 0)
}

// signalByPipe has the kernel send a signal on behalf of a pipe.
func signalByPipe(s stage) error {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, s.pid); err != nil {
		return err
	}
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(unix.SIGUSR1)) // ends the victim
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC)
	_, _ = unix.Write(p[1], []byte("x"))
	return later(nil)
}

// signalEveryone reaches nobody, with the signal that does nothing, if there is nobody else.
func signalEveryone(s stage) error {
	if err := unix.Kill(s.pid, 0); err != nil {
		return err
	}
	return unix.Kill(-1, 0)
}

func readMemory(s stage) error {
	buffer := make([]byte, 8)
	local := []unix.Iovec{{Base: &buffer[0], Len: 8}}
	_, err := unix.ProcessVMReadv(s.pid, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if err == unix.EFAULT {
		return nil
	}
	return err
}

func takeDescriptor(s stage) error {
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

func limitProcess(s stage) error {
	var old unix.Rlimit
	if err := unix.Prlimit(s.pid, unix.RLIMIT_CORE, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(s.pid, unix.RLIMIT_CORE, &old, nil)
}

func pinProcess(s stage) error {
	var set unix.CPUSet
	set.Set(0)
	return unix.SchedSetaffinity(s.pid, &set)
}

func see(pid int) error {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	if err == nil {
		return read(fmt.Sprintf("/proc/%d/cmdline", pid))
	}
	return err
}

func cloneNamespace(stage) error {
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
	if err == nil {
		_, err = p.Wait()
	}
	return err
}

func joinNamespace(s stage) error {
	fd, err := unix.Open(proc(s, "ns/net"), unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

func setID(change func(string) error) error {
	if err := os.WriteFile("setid", nil, 0o700); err != nil {
		return err
	}
	if err := change("setid"); err != nil {
		return err
	}
	return hasSetID("setid")
}

func setIDByOpen(stage) error {
	_ = os.Remove("setid2")
	fd, err := unix.Open("setid2", unix.O_CREAT|unix.O_WRONLY, 0o4755)
	if err != nil {
		return err
	}
	_ = unix.Close(fd)
	return hasSetID("setid2")
}

func hasSetID(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.Mode()&os.ModeSetuid == 0 {
		err = errors.New("the bit is not set")
	}
	return err
}

// capabilities looks for any but those to files.
func capabilities(stage) error {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	const files = 1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_FOWNER
	if has := data[0].Permitted &^ files; has == 0 && data[1].Permitted == 0 {
		return errors.New("none")
	}
	return nil
}

func gainRights(stage) error {
	on, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err == nil && on == 1 {
		err = errors.New("no new privileges")
	}
	return err
}

func coreDumps(stage) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		return err
	}
	if limit.Max == 0 {
		return errors.New("none")
	}
	return nil
}

func seeSecrets(stage) error {
	for pid := range 1000 {
		data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if strings.Contains(string(data), "sk-of-the-program") {
			return nil
		}
	}
	return errors.New("none found")
}

package local_test

import (
	"errors"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// attempt is one way to get out of a sandbox, or to get at what is outside.
type attempt struct {
	name string
	// try makes it inside, and returns nil if it came off.
	try func(stage) error
	// seen looks from outside whether it came off; nil: try's word counts.
	seen func(stage) bool
}

type kind struct {
	name     string
	attempts []attempt
}

// inside are the attempts that a command makes.
var inside = []kind{
	{"paths", []attempt{
		{"read a file", func(s stage) error { return read(s.Outside + "/secret") }, nil},
		{"read by ..", func(s stage) error { return read(upwards + s.Outside[1:] + "/secret") }, nil},
		{"read by a link", func(s stage) error { return readByLink(s.Outside + "/secret") }, nil},
		{"read by a link to a folder", func(s stage) error { return readByLink(s.Outside, "secret") }, nil},
		{"read /etc/shadow", func(stage) error { return read("/etc/shadow") }, nil},
		{"list a folder", func(s stage) error { return list(s.Outside, "secret") }, nil},
		{"create a file", func(s stage) error { return os.WriteFile(s.Outside+"/new", nil, 0o600) }, exists("new")},
		{"make a folder", func(s stage) error { return os.Mkdir(s.Outside+"/folder", 0o700) }, exists("folder")},
		{"overwrite a file", func(s stage) error { return openFile(s.Outside+"/victim", unix.O_WRONLY) }, nil},
		{"truncate a file", func(s stage) error { return os.Truncate(s.Outside+"/victim", 1) }, nil},
		{"truncate by opening", func(s stage) error { return openFile(s.Outside+"/victim", unix.O_RDONLY|unix.O_TRUNC) }, nil},
		{"remove a file", func(s stage) error { return os.Remove(s.Outside + "/gone") }, nil},
		{"rename to the outside", renameOut, nil},
		{"rename from the outside", func(s stage) error { return os.Rename(s.Outside+"/taken", "taken") }, nil},
		{"link from the outside", linkIn, nil},
		{"change a mode", func(s stage) error { return os.Chmod(s.Outside+"/mode", 0o777) }, nil},
		{"change an owner", func(s stage) error { return os.Chown(s.Outside+"/mode", os.Getuid(), os.Getgid()) }, nil},
		{"change a time", func(s stage) error { return os.Chtimes(s.Outside+"/mode", time.Now(), time.Unix(1, 0)) }, nil},
		{"set an attribute", func(s stage) error { return unix.Setxattr(s.Outside+"/mode", "user.rath", []byte("x"), 0) }, nil},
		{"read an attribute", func(s stage) error { return readAttribute(s.Outside + "/mode") }, nil},
		{"change an inode's flags", func(s stage) error { return changeFlags(s.Outside + "/readonly/file") }, nil},
		{"read where a link leads", func(s stage) error { _, err := os.Readlink(s.Outside + "/link"); return err }, nil},
		{"watch a file", func(s stage) error { return watch(s.Outside + "/secret") }, nil},
		{"create in a read-only path", func(s stage) error { return create(s.Outside + "/readonly/new") }, nil},
		{"overwrite in a read-only path", func(s stage) error { return openFile(s.Outside+"/readonly/file", unix.O_WRONLY) }, nil},
		{"write to /usr", func(stage) error { return create("/usr/rath-escape") }, nil},
		{"write to /", func(stage) error { return create("/rath-escape") }, nil},
		{"write to /etc", func(stage) error { return openFile("/etc/passwd", unix.O_WRONLY) }, nil},
		{"open by handle", openByHandle, nil},
	}},
	{"symlink races", []attempt{
		{"swap a folder while a command opens below it", swapAndOpen, nil},
	}},
	{"/proc and /sys", []attempt{
		{"read by /proc/self/root", func(s stage) error { return read("/proc/self/root" + s.Outside + "/secret") }, nil},
		{"read by /proc/1/root", func(s stage) error { return read("/proc/1/root" + s.Outside + "/secret") }, nil},
		{"read by /proc/PID/root", func(s stage) error { return read(proc(s, "root"+s.Outside+"/secret")) }, nil},
		{"read by /proc/PID/cwd", func(s stage) error { return read(proc(s, "cwd/secret")) }, nil},
		{"read /proc/PID/environ", func(s stage) error { return read(proc(s, "environ")) }, nil},
		{"read /proc/PID/fd", func(s stage) error { _, err := os.Readlink(proc(s, "fd/0")); return err }, nil},
		{"read /proc/PID/maps", func(s stage) error { return read(proc(s, "maps")) }, nil},
		{"see a process", func(s stage) error { return see(s.PID) }, nil},
		{"see the machine's mounts", func(s stage) error { return contains("/proc/self/mountinfo", s.Mount) }, nil},
		{"see how the sandbox was started", func(s stage) error { return contains("/proc/1/cmdline", s.Outside+"/readonly") }, nil},
		{"write a core pattern", func(stage) error { return openFile("/proc/sys/kernel/core_pattern", unix.O_WRONLY) }, nil},
		{"write to sysrq", func(stage) error { return openFile("/proc/sysrq-trigger", unix.O_WRONLY) }, nil},
		{"read kernel memory", func(stage) error { return readSome("/proc/kcore") }, nil},
		{"write to /sys", func(stage) error { return openFile("/sys/kernel/mm/ksm/run", unix.O_WRONLY) }, nil},
		{"make a control group", makeGroup, nil},
	}},
	{"ptrace", []attempt{
		{"trace a process", func(s stage) error { return trace(s.PID, unix.PtraceAttach) }, nil},
		{"trace by seizing", func(s stage) error { return trace(s.PID, unix.PtraceSeize) }, nil},
		{"open /proc/PID/mem", func(s stage) error { return openFile(proc(s, "mem"), unix.O_RDWR) }, nil},
		{"read a process's memory", readMemory, nil},
		{"take a descriptor", takeDescriptor, nil},
	}},
	{"signals and other processes", []attempt{
		{"signal a process", func(s stage) error { return unix.Kill(s.PID, 0) }, nil},
		{"signal a thread", func(s stage) error { return unix.Tgkill(s.PID, s.PID, 0) }, nil},
		{"signal a group", func(s stage) error { return unix.Kill(-s.PID, 0) }, nil},
		{"signal the program", func(s stage) error { return unix.Kill(s.Program, 0) }, nil},
		{"signal by pidfd", signalByPidfd, nil},
		{"signal by a pipe", signalByPipe, func(s stage) bool { return !runs(s.Spares[0]) }},
		{"signal everyone", signalEveryone, nil},
		{"kill a process", func(s stage) error { return unix.Kill(s.Spares[1], unix.SIGKILL) }, func(s stage) bool { return !runs(s.Spares[1]) }},
		{"limit a process", limitProcess, nil},
		{"slow a process", func(s stage) error { return unix.Setpriority(unix.PRIO_PROCESS, s.PID, 1) }, nil},
		{"slow a group", func(s stage) error { return unix.Setpriority(unix.PRIO_PGRP, s.PID, 2) }, nil},
		{"pin a process", pinProcess, nil},
		{"shared memory", func(s stage) error { return call(unix.SYS_SHMGET, uintptr(s.Key), 1, 0) }, nil},
		{"message queue", func(s stage) error { return call(unix.SYS_MSGGET, uintptr(s.Key), 0) }, nil},
		{"semaphore", func(s stage) error { return call(unix.SYS_SEMGET, uintptr(s.Key), 1, 0) }, nil},
		{"POSIX message queue", func(s stage) error { return openQueue(s.Name, unix.O_RDWR) }, nil},
		{"file in /dev/shm", func(s stage) error { return read("/dev/shm/" + s.Name) }, nil},
	}},
	{"mounts and namespaces", []attempt{
		{"mount", mount("none", "tmpfs", 0), nil},
		{"bind mount", mount("/", "", unix.MS_BIND), nil},
		{"remount", func(stage) error { return reached(unix.Mount("", ".", "", unix.MS_REMOUNT|unix.MS_BIND, "")) }, nil},
		{"unmount", func(stage) error { return reached(unix.Unmount(".", 0)) }, nil},
		{"chroot", func(stage) error { return unix.Chroot(".") }, nil},
		{"pivot the root", func(stage) error { return reached(unix.PivotRoot(".", ".")) }, nil},
		{"clone a mount", func(stage) error { _, err := unix.OpenTree(unix.AT_FDCWD, ".", unix.OPEN_TREE_CLONE); return err }, nil},
		{"new file system", func(stage) error { _, err := unix.Fsopen("tmpfs", 0); return err }, nil},
		{"new user namespace", func(stage) error { return reached(unix.Unshare(unix.CLONE_NEWUSER)) }, nil},
		{"new mount namespace", func(stage) error { return unix.Unshare(unix.CLONE_NEWNS) }, nil},
		{"new network namespace", func(stage) error { return unix.Unshare(unix.CLONE_NEWNET) }, nil},
		{"clone a user namespace", cloneNamespace, nil},
		{"clone3", func(stage) error { return reaches(unix.SYS_CLONE3, 0, 88) }, nil},
		{"join a namespace", joinNamespace, nil},
	}},
	{"set-user-id and capabilities", []attempt{
		{"set-user-id by chmod", func(stage) error { return setID(func(f string) error { return unix.Chmod(f, 0o4755) }) }, nil},
		{"set-user-id by fchmodat", func(stage) error {
			return setID(func(f string) error { return unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) })
		}, nil},
		{"set-user-id by open", setIDByOpen, nil},
		{"set-user-id by mknod", setIDByMknod, nil},
		{"file capabilities", fileCapabilities, nil},
		{"gain by a set-user-id file", gainRights, nil},
		{"capabilities", capabilities, nil},
		{"become another user", func(stage) error { return call(unix.SYS_SETRESUID, 64999, 64999, 64999) }, nil},
		{"join another group", func(stage) error { return unix.Setgroups([]int{64999}) }, nil},
		{"raise a limit", raiseLimit, nil},
	}},
	{"devices", []attempt{
		{"make a device", func(stage) error { return makeNode(unix.S_IFCHR|0o600, 1<<8|1) }, nil},
		{"make a whiteout", func(stage) error { return makeNode(unix.S_IFCHR, 0) }, nil},
		{"make a block device", func(stage) error { return makeNode(unix.S_IFBLK|0o600, 254<<8) }, nil},
		{"open a disk", func(stage) error { return openAny("/dev/vd[a-z]", "/dev/sd[a-z]", "/dev/nvme[0-9]n[0-9]") }, nil},
		{"open the memory", func(stage) error { return openFile("/dev/mem", unix.O_RDONLY) }, nil},
		{"open the I/O ports", func(stage) error { return openFile("/dev/port", unix.O_RDONLY) }, nil},
		{"use a device in the workspace", useDevice, nil},
	}},
	{"terminals", []attempt{
		{"open the controlling terminal", func(stage) error { return openFile("/dev/tty", unix.O_RDWR) }, nil},
		{"write to the user's terminal", func(s stage) error { return openFile(s.Terminal, unix.O_WRONLY) }, nil},
		{"type into the user's terminal", typeIn, nil},
		{"write to another's terminal", func(stage) error { return openFile("/dev/console", unix.O_WRONLY) }, nil},
	}},
	{"unix sockets", []attempt{
		{"abstract socket", func(s stage) error { return talk("unix", "@"+s.Name) }, nil},
		{"unix socket", func(s stage) error { return talk("unix", s.Outside+"/socket") }, nil},
		{"unix datagrams", func(s stage) error { return talk("unixgram", s.Outside+"/datagrams") }, nil},
		{"datagrams by a pair", datagramsByPair, nil},
		{"unix socket in a path of the policy", func(s stage) error {
			if err := talk("unix", "socket"); err != nil {
				return talk("unix", s.Outside+"/readonly/socket")
			}
			return nil
		}, nil},
	}},
	{"TCP, UDP, raw, ICMP", []attempt{
		{"TCP", func(s stage) error { return talk("tcp", s.TCP) }, nil},
		{"TCP by IPv6", func(s stage) error { return talk("tcp", s.TCP6) }, nil},
		{"TCP to the internet", func(stage) error { return atHome(talk("tcp", "1.1.1.1:443")) }, nil},
		{"serve this machine", serve, nil},
		{"UDP", func(s stage) error { return talk("udp", s.UDP) }, nil},
		{"ICMP", ping, nil},
		{"raw socket", func(stage) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW) }, nil},
		{"packet socket", func(stage) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }, nil},
		{"vsock", func(stage) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }, nil},
		{"kernel crypto socket", func(stage) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }, nil},
		{"family with high bits", func(stage) error { return socket(1<<32|unix.AF_INET, unix.SOCK_STREAM, 0) }, nil},
		{"x32 socket", func(stage) error { return call(unix.SYS_SOCKET|0x40000000, unix.AF_INET, unix.SOCK_STREAM) }, nil},
		{"see the machine's interfaces", seeInterfaces, nil},
	}},
	{"DNS", []attempt{
		{"ask a name server", askNameServer, nil},
		{"ask the system's name server", func(stage) error { _, err := net.LookupHost("example.com"); return atHome(err) }, nil},
	}},
	{"inherited descriptors", []attempt{
		{"leave by a descriptor", leaveByDescriptor, nil},
		{"an inherited folder", func(stage) error { return inherits(unix.S_IFDIR) }, nil},
		{"an inherited socket", func(stage) error { return inherits(unix.S_IFSOCK) }, nil},
	}},
	{"environment", []attempt{
		{"a key in the environment", func(stage) error {
			if os.Getenv("RATH_TEST_KEY") == "" {
				return errors.New("it is not there")
			}
			return nil
		}, nil},
		{"a key in the program's environment", seeSecrets, nil},
		{"the program's memory", func(s stage) error { s.PID = s.Program; return openFile(proc(s, "mem"), unix.O_RDONLY) }, nil},
	}},
	{"the kernel", []attempt{
		{"add a key", func(stage) error { return reaches(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0) }, nil},
		{"session keyring", func(stage) error { return reaches(unix.SYS_KEYCTL, 0, keySession, 0) }, nil},
		{"bpf", func(stage) error { return reaches(unix.SYS_BPF, 0, 0, 0) }, nil},
		{"io_uring", func(stage) error { return reaches(unix.SYS_IO_URING_SETUP, 1, 0) }, nil},
		{"userfaultfd", func(stage) error { return call(unix.SYS_USERFAULTFD, 1) }, nil},
		{"perf events", func(stage) error { return reaches(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) }, nil},
		{"load a module", func(stage) error { return reaches(unix.SYS_INIT_MODULE, 0, 0, 0) }, nil},
		{"reboot", func(stage) error { return reaches(unix.SYS_REBOOT, 0, 0, 0) }, nil},
		{"swap", func(stage) error { return reaches(unix.SYS_SWAPON, 0, 0) }, nil},
		{"kernel log", func(stage) error { return reaches(unix.SYS_SYSLOG, 2, 0, 0) }, nil},
		{"set the clock", setClock, nil},
		{"set the machine's name", func(stage) error { return reaches(unix.SYS_SETHOSTNAME, 0, 1) }, nil},
	}},
	{"core dumps", []attempt{
		{"leave a core dump", coreDumps, nil},
	}},
}

func exists(name string) func(stage) bool {
	return func(s stage) bool {
		_, err := os.Lstat(s.Outside + "/" + name)
		return err == nil
	}
}

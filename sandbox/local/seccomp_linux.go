package local

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"syscall"
	"unsafe"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/openrath-go/rath/sandbox/driver"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const (
	refused = seccomp.ActionErrno | seccomp.Action(unix.EPERM)
	unknown = seccomp.ActionErrno | seccomp.Action(unix.ENOSYS)     // programs then do without
	without = seccomp.ActionErrno | seccomp.Action(unix.EOPNOTSUPP) // as on a file system that has none
)

// Where the kernel puts what a filter looks at.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16 // of the first, 8 bytes each
)

// refusedCalls reach beyond the process in ways that no file rule covers, or open large
// parts of the kernel to attack.
var refusedCalls = []string{
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "open_tree_attr",
	"fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns",
	"ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "pidfd_getfd", "kcmp",
	"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register",
	"keyctl", "add_key", "request_key",
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
	"swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "syslog", "lookup_dcookie", "nfsservctl", "vhangup",
	"settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "adjtimex",
	"sethostname", "setdomainname", "iopl", "ioperm", "vm86", "vm86old",
	"name_to_handle_at", "open_by_handle_at", "fanotify_init", "fanotify_mark",
}

// unruledCalls change files that may only be read, or reach memory and queues that
// programs of a user share, for Landlock has no rules for them.
var unruledCalls = []string{
	"chown", "fchown", "lchown", "fchownat", "chown32", "fchown32", "lchown32", "file_setattr",
	"shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl", "ipc",
	"mq_open", "mq_unlink",
	"setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr", "removexattrat",
}

// attributeCalls read what programs have noted on files, for which Landlock has no rule.
var attributeCalls = []string{
	"getxattr", "lgetxattr", "fgetxattr", "getxattrat", "listxattr", "llistxattr", "flistxattr", "listxattrat",
}

// refusedRequests are those of ioctl that change what a file system notes on a file, for
// which it is enough to have the file open for reading; 32-bit ones among them.
var refusedRequests = []uint32{
	unix.FS_IOC_SETFLAGS, 0x40046602, 0x401c5820 /* FS_IOC_FSSETXATTR */, 0x40087602, 0x40047602, /* FS_IOC_SETVERSION */
	unix.FS_IOC_ENABLE_VERITY, unix.FS_IOC_SET_ENCRYPTION_POLICY,
}

// unknownCalls have their arguments in memory, where a filter cannot look. Programs use
// the older calls instead.
var unknownCalls = []string{"clone3", "openat2"}

// namespaces are the flags that make one.
const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
	unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// setID are the mode bits by which a file would run as its owner, for whoever starts it.
const setID = unix.S_ISUID | unix.S_ISGID

// conditional refuses calls by their arguments. Values are compared as 64 bits, of which
// the kernel ignores the upper half: so what is allowed is named, not what is refused,
// except for bits.
func conditional(families []uint64) []seccomp.NameWithConditions {
	bits := func(argument uint32, value uint64) seccomp.Condition {
		return seccomp.Condition{Argument: argument, Operation: seccomp.BitsSet, Value: value}
	}
	var others seccomp.ArgumentConditions
	for _, family := range families {
		others = append(others, seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: family})
	}
	if len(families) == 0 {
		others = seccomp.ArgumentConditions{{Argument: 0, Operation: seccomp.GreaterOrEqual, Value: 0}}
	}
	const create = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	return []seccomp.NameWithConditions{
		{Name: "clone", Conditions: seccomp.ArgumentConditions{bits(0, namespaces&^unix.CLONE_NEWTIME)}}, // there it is part of a signal's number
		{Name: "unshare", Conditions: seccomp.ArgumentConditions{bits(0, namespaces)}},
		{Name: "socket", Conditions: others},
		// A datagram socket can send to any other, also when it began as one of a pair.
		{Name: "socketpair", Conditions: seccomp.ArgumentConditions{bits(1, unix.SOCK_DGRAM)}},
		{Name: "chmod", Conditions: seccomp.ArgumentConditions{bits(1, setID)}},
		{Name: "fchmod", Conditions: seccomp.ArgumentConditions{bits(1, setID)}},
		{Name: "fchmodat", Conditions: seccomp.ArgumentConditions{bits(2, setID)}},
		{Name: "fchmodat2", Conditions: seccomp.ArgumentConditions{bits(2, setID)}},
		{Name: "creat", Conditions: seccomp.ArgumentConditions{bits(1, setID)}},
		{Name: "mknod", Conditions: seccomp.ArgumentConditions{bits(1, setID|unix.S_IFCHR)}}, // a block device has that bit too
		{Name: "mknodat", Conditions: seccomp.ArgumentConditions{bits(2, setID|unix.S_IFCHR)}},
		{Name: "open", Conditions: seccomp.ArgumentConditions{bits(1, create), bits(2, setID)}},
		{Name: "openat", Conditions: seccomp.ArgumentConditions{bits(2, create), bits(3, setID)}},
	}
}

// ownCalls change how a process runs, another one of the same user too, for which
// Landlock has no rule either. These arguments say that it is the caller.
var ownCalls = map[string]map[uint32]uint64{
	"prlimit64": {0: 0}, "migrate_pages": {0: 0}, "move_pages": {0: 0},
	"sched_setaffinity": {0: 0}, "sched_setscheduler": {0: 0}, "sched_setparam": {0: 0}, "sched_setattr": {0: 0},
	"setpriority": {0: unix.PRIO_PROCESS, 1: 0}, "ioprio_set": {0: ioprioProcess, 1: 0},
}

const ioprioProcess = 1 // IOPRIO_WHO_PROCESS

// onlySelf refuses them for all but the caller.
func onlySelf() (list []seccomp.NameWithConditions) {
	for name, self := range ownCalls {
		for argument, value := range self {
			list = append(list, seccomp.NameWithConditions{Name: name, Conditions: seccomp.ArgumentConditions{
				{Argument: argument, Operation: seccomp.NotEqual, Value: value},
			}})
		}
	}
	return list
}

// families are the kinds of sockets that a network needs. Where the host's network is
// shared, those that reach its services by a name or a path are left out; so are they
// where only the filter stands before them.
func families(level string, network driver.Network) []uint64 {
	switch {
	case network == driver.NetworkAllow:
		return []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}
	case network == driver.NetworkLoopback:
		return []uint64{unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK, unix.AF_UNIX}
	case level == driver.LevelBubblewrap:
		return []uint64{unix.AF_UNIX}
	}
	return nil
}

// newFilter assembles the program that the kernel runs before each system call. Calls
// newer than it, and those of another architecture, are not there.
func newFilter(level string, network driver.Network) ([]bpf.RawInstruction, error) {
	here, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	known := func(names []string) (found []string) {
		for _, name := range names {
			if _, ok := here.SyscallNames[name]; ok {
				found = append(found, name)
			}
		}
		return found
	}
	calls, conditions := refusedCalls, conditional(families(level, network))
	if level == driver.LevelLandlock {
		calls, conditions = slices.Concat(calls, unruledCalls), append(conditions, onlySelf()...)
	}
	conditions = slices.DeleteFunc(conditions, func(c seccomp.NameWithConditions) bool {
		_, ok := here.SyscallNames[c.Name]
		return !ok
	})
	groups := []seccomp.SyscallGroup{{Names: known(calls), Action: refused}, {Names: known(unknownCalls), Action: unknown}}
	if level == driver.LevelLandlock {
		groups = append(groups, seccomp.SyscallGroup{Names: known(attributeCalls), Action: without})
	}
	program := append(prologue(here), refuseRequests(here)...)
	for _, list := range byCall(conditions) {
		program, err = refuse(program, seccomp.SyscallGroup{NamesWithCondtions: list, Action: refused})
		if err != nil {
			return nil, err
		}
	}
	if program, err = refuse(program, groups...); err != nil {
		return nil, err
	}
	return bpf.Assemble(append(program, bpf.RetConstant{Val: uint32(seccomp.ActionAllow)}))
}

// byCall sorts conditions by the call that they are about.
func byCall(conditions []seccomp.NameWithConditions) (lists [][]seccomp.NameWithConditions) {
	at := map[string]int{}
	for _, c := range conditions {
		i, ok := at[c.Name]
		if !ok {
			i = len(lists)
			at[c.Name], lists = i, append(lists, nil)
		}
		lists[i] = append(lists[i], c)
	}
	return lists
}

// refuse adds to a program what refuses calls; it goes on where it does not. Conditions of
// different calls must be added one call at a time: behind those that do not hold, the
// library compares the numbers of further calls with the argument that it looked at last.
func refuse(program []bpf.Instruction, groups ...seccomp.SyscallGroup) ([]bpf.Instruction, error) {
	policy := seccomp.Policy{DefaultAction: seccomp.ActionAllow, Syscalls: groups}
	more, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("assemble the system call filter: %w", err)
	}
	last := len(more) - 1
	if more[last] != (bpf.RetConstant{Val: uint32(seccomp.ActionAllow)}) {
		return nil, fmt.Errorf("assemble the system call filter: it ends in %v", more[last])
	}
	return append(program, more[:last]...), nil
}

// prologue refuses what the rest, which lists what is refused, does not know.
func prologue(here *arch.Info) []bpf.Instruction {
	last := 0
	for number := range here.SyscallNumbers {
		last = max(last, number)
	}
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(here.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(unknown)},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: uint32(last | here.SeccompMask), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(unknown)},
	}
}

// refuseRequests refuses them by the half of the argument that the kernel looks at.
func refuseRequests(here *arch.Info) []bpf.Instruction {
	const request = argumentOffset + 8
	low := uint32(request)
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		low += 4
	}
	list := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(here.SyscallNames["ioctl"]), SkipTrue: uint8(1 + 2*len(refusedRequests))},
		bpf.LoadAbsolute{Off: low, Size: 4},
	}
	for _, r := range refusedRequests {
		list = append(list, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: r, SkipTrue: 1}, bpf.RetConstant{Val: uint32(refused)})
	}
	return list
}

// encoded is a filter as programs hand it to each other.
func encoded(filter []bpf.RawInstruction) []byte {
	var b bytes.Buffer
	for _, in := range filter {
		_ = binary.Write(&b, binary.NativeEndian, in) // to memory
	}
	return b.Bytes()
}

// filterThread puts a filter on the calling thread and what it starts, for good.
func filterThread(filter []bpf.RawInstruction) error {
	list := make([]unix.SockFilter, len(filter))
	for i, in := range filter {
		list[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(list)), Filter: &list[0]}
	_, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("set the system call filter: %w", errno)
	}
	return nil
}

package local

import (
	"encoding/binary"
	"testing"

	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/openrath-go/rath/sandbox/driver"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// What cannot be called from a test here: other architectures, and calls yet to come.
func TestFilter(t *testing.T) {
	here, err := arch.GetInfo("")
	if err != nil {
		t.Skip(err)
	}
	filter, err := newFilter(driver.LevelLandlock, driver.NetworkDeny)
	if err != nil {
		t.Fatal(err)
	}
	program, _ := bpf.Disassemble(filter)
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) uint32 { return uint32(here.SyscallNames[name]) }
	errno := func(e uint32) int { return int(unix.SECCOMP_RET_ERRNO | e) }
	for _, test := range []struct {
		name         string
		arch, number uint32
		want         int
	}{
		{"a harmless call", uint32(here.ID), number("read"), unix.SECCOMP_RET_ALLOW},
		{"a refused call", uint32(here.ID), number("mount"), errno(uint32(unix.EPERM))},
		{"a call whose arguments are in memory", uint32(here.ID), number("clone3"), errno(uint32(unix.ENOSYS))},
		{"a call yet to come", uint32(here.ID), 5000, errno(uint32(unix.ENOSYS))},
		{"another architecture", uint32(here.ID) ^ 1, number("read"), errno(uint32(unix.ENOSYS))},
	} {
		data := binary.BigEndian.AppendUint32(nil, test.number) // the machine's order is this one
		data = binary.BigEndian.AppendUint32(data, test.arch)
		if got, err := vm.Run(append(data, make([]byte, 56)...)); got != test.want || err != nil {
			t.Errorf("%s: %#x, %v, want %#x", test.name, got, err, test.want)
		}
	}
}

// An argument may be any number, that of a refused call too.
func TestFilterKeepsArgumentsApart(t *testing.T) {
	here, err := arch.GetInfo("")
	if err != nil {
		t.Skip(err)
	}
	for _, level := range []string{driver.LevelLandlock, driver.LevelBubblewrap} {
		filter, err := newFilter(level, driver.NetworkAllow)
		if err != nil {
			t.Fatal(err)
		}
		program, _ := bpf.Disassemble(filter)
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		run := func(name string, arguments ...uint32) int {
			data := binary.BigEndian.AppendUint32(nil, uint32(here.SyscallNames[name]))
			data = binary.BigEndian.AppendUint32(data, uint32(here.ID))
			data = append(data, make([]byte, 8)...)
			for i := range 6 {
				var low uint32
				if i < len(arguments) {
					low = arguments[i]
				}
				data = binary.BigEndian.AppendUint32(data, low)
				data = binary.BigEndian.AppendUint32(data, 0)
			}
			got, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for number := range uint32(500) {
			create := number&unix.O_CREAT != 0
			if got := run("openat", 0, 0, number, 0o644); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: openat with flags %#x is %#x", level, number, got)
			}
			if got := run("openat", 0, 0, number, 0o4755); (got == unix.SECCOMP_RET_ALLOW) == create {
				t.Errorf("%s: openat with flags %#x and a set-id mode is %#x", level, number, got)
			}
			if got := run("fchmodat", number, 0, 0o755); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: fchmodat with the folder %d is %#x", level, number, got)
			}
			inet := number == unix.AF_INET || number == unix.AF_INET6 || number == unix.AF_NETLINK
			if got := run("socket", number, unix.SOCK_STREAM); (got == unix.SECCOMP_RET_ALLOW) != inet {
				t.Errorf("%s: a socket of family %d is %#x", level, number, got)
			}
		}
		if got := run("setpriority", unix.PRIO_PROCESS, 77); level == driver.LevelLandlock && got == unix.SECCOMP_RET_ALLOW {
			t.Errorf("%s: another process's priority can be set", level)
		}
		for _, request := range refusedRequests {
			if got := run("ioctl", 3, request); got == unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: the request %#x is allowed", level, request)
			}
		}
		for number := range uint32(500) {
			if got := run("ioctl", number, number); got != unix.SECCOMP_RET_ALLOW {
				t.Errorf("%s: the harmless request %#x is %#x", level, number, got)
			}
		}
		if got := run("setpriority", unix.PRIO_PROCESS, 0); got != unix.SECCOMP_RET_ALLOW {
			t.Errorf("%s: the own priority cannot be set: %#x", level, got)
		}
	}
}

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

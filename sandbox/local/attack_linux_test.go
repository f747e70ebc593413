package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/openrath-go/rath/sandbox"
	"golang.org/x/sys/unix"
)

// errNone says that an attempt could not be made for want of what it takes.
var errNone = errors.New("there is no such thing here")

// upwards leads to the root from wherever.
var upwards = strings.Repeat("../", 20)

// inherited are the descriptors that the attacker was started with, and of what kind.
var inherited = map[int]uint32{}

const keySession = ^uintptr(2) // the session keyring, -3

// helpAttack makes every attempt and says what became of it. It runs in a sandbox.
func helpAttack() {
	s := stageOf(os.Getenv)
	for fd := 3; fd < 1024; fd++ {
		var info unix.Stat_t
		if unix.Fstat(fd, &info) == nil {
			inherited[fd] = info.Mode & unix.S_IFMT
		}
	}
	for _, k := range inside {
		for _, a := range k.attempts {
			report(a.name, alone(func() error { return a.try(s) }))
		}
	}
}

// alone does something on a thread that is not used any more afterwards, with a root and
// a user of its own.
func alone(do func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = do()
		}
		result <- err
	}()
	return <-result
}

func report(name string, err error) {
	result := outcome(err)
	switch {
	case err == nil:
		err = errors.New("it came off")
	case os.Getenv("LEVEL") == sandbox.LevelHost && missing(err):
		result = unknown
	}
	fmt.Printf("%s\t%s\t%s\n", name, result, strings.ReplaceAll(err.Error(), "\n", " "))
}

// outcome says what became of an attempt by its error.
func outcome(err error) string {
	switch {
	case err == nil:
		return notStopped
	case errors.Is(err, errNone):
		return unknown
	}
	return stopped
}

// missing reports whether an attempt failed for want of a target. In a sandbox that is as
// good as any other failure; at the level "host" it says nothing.
func missing(err error) bool {
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return true
	}
	for _, e := range []error{
		unix.ENOENT, unix.ENOSYS, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT, unix.ESOCKTNOSUPPORT,
		unix.EOPNOTSUPP, unix.ENETUNREACH, unix.EHOSTUNREACH, unix.EADDRNOTAVAIL,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func proc(s stage, name string) string { return fmt.Sprintf("/proc/%d/%s", s.PID, name) }

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
	return os.Rename("mine", s.Outside+"/mine")
}

func linkIn(s stage) error {
	_ = os.Remove("linked")
	if err := os.Link(s.Outside+"/secret", "linked"); err != nil {
		return err
	}
	return read("linked")
}

func openByHandle(s stage) error {
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, ".", 0)
	if err != nil {
		return err
	}
	at, err := unix.Open(".", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	_, err = unix.OpenByHandleAt(at, handle, unix.O_RDONLY)
	return err
}

// leaveByDescriptor looks for an inherited folder that leads outside.
func leaveByDescriptor(s stage) error {
	for fd := range inherited {
		at, err := unix.Openat(fd, upwards+s.Outside[1:]+"/secret", unix.O_RDONLY, 0)
		if err == nil {
			return unix.Close(at)
		}
	}
	return errors.New("no descriptor leads there")
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

func datagramsByPair(s stage) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	return unix.Sendto(pair[0], []byte("hello"), 0, &unix.SockaddrUnix{Name: s.Outside + "/datagrams"})
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
	return reached(call(number, args...))
}

func reached(err error) error {
	switch err {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return err
	}
	return nil
}

func seeInterfaces(stage) error {
	all, err := net.Interfaces()
	for _, i := range all {
		if i.Flags&net.FlagLoopback == 0 {
			return nil
		}
	}
	listed, failed := os.ReadFile("/proc/net/dev")
	for line := range strings.Lines(string(listed)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && name != "lo" && !strings.Contains(name, "|") {
			return nil
		}
	}
	return errors.Join(err, failed, errors.New("only loopback"))
}

func readAttribute(name string) error {
	_, err := unix.Getxattr(name, "user.rath", make([]byte, 16))
	if err == unix.ENODATA {
		return nil
	}
	return err
}

// changeFlags sets what a file system notes on a file, such as that it is not to be dumped.
func changeFlags(name string) error {
	fd, err := unix.Open(name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	err = unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
	if err == unix.ENOTTY {
		return errNone
	}
	return err
}

func watch(name string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.InotifyAddWatch(fd, name, unix.IN_ALL_EVENTS)
	return err
}

func contains(name, text string) error {
	data, err := os.ReadFile(name)
	if err == nil && (text == "" || !strings.Contains(string(data), text)) {
		err = errors.New("it is not in there")
	}
	return err
}

func signalByPidfd(s stage) error {
	fd, err := unix.PidfdOpen(s.PID, 0)
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
	if _, err := unix.FcntlInt(uintptr(p[0]), unix.F_SETOWN, s.Spares[0]); err != nil {
		return err
	}
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETSIG, int(unix.SIGUSR1)) // ends the victim
	_, _ = unix.FcntlInt(uintptr(p[0]), unix.F_SETFL, unix.O_ASYNC)
	_, err := unix.Write(p[1], []byte("x"))
	return err
}

// signalEveryone reaches nobody, with the signal that does nothing, if there is nobody else.
func signalEveryone(s stage) error {
	if err := unix.Kill(s.PID, 0); err != nil {
		return err
	}
	return unix.Kill(-1, 0)
}

func readMemory(s stage) error {
	buffer := make([]byte, 8)
	local := []unix.Iovec{{Base: &buffer[0], Len: 8}}
	_, err := unix.ProcessVMReadv(s.PID, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	if err == unix.EFAULT {
		return nil
	}
	return err
}

func takeDescriptor(s stage) error {
	fd, err := unix.PidfdOpen(s.PID, 0)
	if err != nil {
		return err
	}
	_, err = unix.PidfdGetfd(fd, 0, 0)
	return err
}

func limitProcess(s stage) error {
	var old unix.Rlimit
	if err := unix.Prlimit(s.PID, unix.RLIMIT_CORE, nil, &old); err != nil {
		return err
	}
	return unix.Prlimit(s.PID, unix.RLIMIT_CORE, &old, nil)
}

func pinProcess(s stage) error {
	var set unix.CPUSet
	set.Set(0)
	return unix.SchedSetaffinity(s.PID, &set)
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

// inherits looks for a descriptor of a kind.
func inherits(kind uint32) error {
	for _, k := range inherited {
		if k == kind {
			return nil
		}
	}
	return errors.New("none")
}

// swapAndOpen has a folder swapped for a link to the outside, while files below it are
// opened.
func swapAndOpen(s stage) error {
	return swapped(".", s.Outside, func() bool {
		data, _ := os.ReadFile("swap/secret")
		return string(data) == "outside"
	})
}

// makeGroup makes a control group, which on the old hierarchies is in one of them.
func makeGroup(stage) error {
	dir := "/sys/fs/cgroup/rath-escape"
	err := os.Mkdir(dir, 0o700)
	if err == nil {
		err = os.Remove(dir)
	}
	return err
}

func trace(pid int, begin func(int) error) error {
	if err := begin(pid); err != nil {
		return err
	}
	_ = unix.PtraceInterrupt(pid) // after seizing; after attaching it is on its way
	if _, err := unix.Wait4(pid, nil, unix.WALL, nil); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

func openQueue(name string, flags uintptr) error {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return err
	}
	fd, _, errno := unix.RawSyscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), flags, 0o600, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}

func mount(source, fs string, flags uintptr) func(stage) error {
	return func(stage) error {
		_ = os.Mkdir("mount", 0o700)
		err := unix.Mount(source, "mount", fs, flags, "")
		if err == nil {
			err = unix.Unmount("mount", unix.MNT_DETACH)
		}
		return err
	}
}

func setIDByMknod(stage) error {
	_ = os.Remove("setid3")
	if err := unix.Mknod("setid3", unix.S_IFREG|0o4755, 0); err != nil {
		return err
	}
	return hasSetID("setid3")
}

// fileCapabilities gives a file the right to everything.
func fileCapabilities(stage) error {
	if err := os.WriteFile("capable", nil, 0o700); err != nil {
		return err
	}
	all := []byte("\x01\x00\x00\x02\xff\xff\xff\xff\x00\x00\x00\x00\xff\x00\x00\x00\x00\x00\x00\x00")
	return unix.Setxattr("capable", "security.capability", all, 0)
}

// raiseLimit takes back a limit that was set for good.
func raiseLimit(stage) error {
	err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	}
	return err
}

// makeNode makes a device, and removes it again.
func makeNode(mode uint32, number int) error {
	_ = os.Remove("node")
	err := unix.Mknod("node", mode, number)
	if err == nil {
		err = os.Remove("node")
	}
	return err
}

// useDevice reads from a device that somebody else has made in the workspace, which only
// the superuser could.
func useDevice(stage) error {
	if _, err := os.Lstat("zero"); err != nil {
		return errNone
	}
	return readSome("zero")
}

// typeIn has the user's terminal believe that the user has typed.
func typeIn(s stage) error {
	fd, err := unix.Open(s.Terminal, unix.O_RDWR|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	letter := byte('x')
	return call(unix.SYS_IOCTL, uintptr(fd), unix.TIOCSTI, uintptr(unsafe.Pointer(&letter)))
}

// atHome is for what can fail because of the network that this machine is in.
func atHome(err error) error {
	if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) {
		err = fmt.Errorf("%w: %w", unix.EHOSTUNREACH, err)
	}
	return err
}

// serve waits for somebody outside to call.
func serve(s stage) error {
	l, err := net.Listen("tcp", s.Serve)
	if err != nil {
		return err
	}
	defer l.Close()
	_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Second))
	c, err := l.Accept()
	if err != nil {
		return fmt.Errorf("nobody called: %v", err)
	}
	return c.Close()
}

// ping sends an echo request to this machine and waits for what comes back.
func ping(stage) error {
	c, err := net.ListenPacket("ip4:icmp", "127.0.0.1")
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	echo := []byte{8, 0, 0xf7, 0xff, 0, 0, 0, 0}
	if _, err := c.WriteTo(echo, &net.IPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return err
	}
	_, _, err = c.ReadFrom(make([]byte, 64))
	return err
}

// askNameServer asks the one that the stage has for this.
func askNameServer(s stage) error {
	r := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.DNS)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err := r.LookupNetIP(ctx, "ip4", "secret-in-a-name.example.com.")
	return err
}

// setClock sets what is set already, which takes the same right.
func setClock(stage) error {
	var now unix.Timex
	if _, err := unix.Adjtimex(&now); err != nil {
		return err
	}
	const status = 0x10 // ADJ_STATUS
	set := unix.Timex{Modes: status, Status: now.Status}
	_, err := unix.Adjtimex(&set)
	return err
}

// coreDumps ends a process as if it had gone wrong.
func coreDumps(stage) error {
	p, err := os.StartProcess("/bin/sh", []string{"sh", "-c", "kill -ABRT $$"}, &os.ProcAttr{})
	if err != nil {
		return err
	}
	state, err := p.Wait()
	if err == nil && !state.Sys().(syscall.WaitStatus).CoreDump() {
		err = errors.New("none")
	}
	return err
}

func seeSecrets(s stage) error {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", s.Program))
	if err == nil && !strings.Contains(string(data), theKey) {
		err = errors.New("it is not there")
	}
	return err
}

// swapped does something over and over while a folder "swap" trades places with a link to
// another one, until it comes off or both have happened in turn often enough.
func swapped(dir, outside string, cameOff func() bool) error {
	name, link := filepath.Join(dir, "swap"), filepath.Join(dir, "swap.link")
	if err := errors.Join(
		os.RemoveAll(name), os.RemoveAll(link), // which may have traded places
		os.Mkdir(name, 0o700), os.WriteFile(name+"/secret", []byte("inside"), 0o600), os.Symlink(outside, link),
	); err != nil {
		return err
	}
	var trades atomic.Int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, name, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE) == nil {
					trades.Add(1)
				}
			}
		}
	}()
	defer func() { close(end); <-ended }()
	between, last := 0, int64(0) // how often there were trades between two times
	for limit := time.Now().Add(20 * time.Second); between < 100 && time.Now().Before(limit); {
		if cameOff() {
			return nil
		}
		if now := trades.Load(); now > last {
			between, last = between+1, now
		}
	}
	return fmt.Errorf("never, in %d trades", trades.Load())
}

// helpLoopback tells whether programs here can talk to each other.
func helpLoopback() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		defer l.Close()
		_, err = net.Dial("tcp", l.Addr().String())
	}
	fmt.Println(err == nil)
}

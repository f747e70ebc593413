package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// The test binary runs itself to be another process.
const (
	taskVar = "RATH_STORE_TASK" // a task, as JSON
	loadVar = "RATH_STORE_LOAD" // for how long two processes write, "60s" say
)

// task is what a child does with a store.
type task struct {
	Path string
	Runs int           // so many at once
	For  time.Duration // 0: until it is killed
	Max  int           // events of each run; 0: no limit
	Stay bool          // do not close the store, wait to be killed
	Room uint64        // no file may grow beyond it; 0: no limit
}

// note is a line that a child writes: an event that was acknowledged.
type note struct {
	Run   session.ID     `json:"run"`
	Seq   int64          `json:"seq"`
	Last  session.ID     `json:"last"` // a session
	Sum   session.Digest `json:"sum"`  // of it
	Error string         `json:"error,omitempty"`
}

func child(text string) int {
	var t task
	err := json.Unmarshal([]byte(text), &t)
	if err == nil && t.Room > 0 {
		err = limitFiles(t.Room)
	}
	var s store.Store
	if err == nil {
		s, err = Open(context.Background(), t.Path, nil)
	}
	if err != nil {
		fmt.Println(`{"error":` + strconv.Quote(err.Error()) + `}`)
		return 1
	}
	out := make(chan note, 16)
	var wg sync.WaitGroup
	for i := range t.Runs {
		wg.Go(func() {
			if err := t.drive(s, i, out); err != nil {
				out <- note{Error: err.Error()}
			}
		})
	}
	go func() { wg.Wait(); close(out) }()
	for n := range out {
		line, _ := json.Marshal(n)
		fmt.Println(string(line))
	}
	if t.Stay {
		fmt.Println("{}")
		select {}
	}
	if err := s.Close(); err != nil {
		fmt.Println(`{"error":` + strconv.Quote(err.Error()) + `}`)
	}
	return 0
}

// drive makes a run and appends to it: events, a session that grows, renewals.
func (t task) drive(s store.Store, seed int, out chan<- note) error {
	ctx := context.Background()
	id, begun := session.NewID()
	l := store.Lease{Run: id, Owner: "child", Fence: 1, Expires: begun.Add(time.Hour)}
	if err := s.CreateRun(ctx, store.Run{ID: id, Name: "load", State: store.Running, Lease: l}, store.Batch{}).Wait(ctx); err != nil {
		return err
	}
	var head store.Head
	x := session.FromUser("the same in all")
	for n := 0; (t.For == 0 || time.Since(begun) < t.For) && (t.Max == 0 || n < t.Max); n++ {
		first, err := head.Next(store.EventIntent, time.Now(), intent)
		if err != nil {
			return err
		}
		second, err := first.Head().Next(store.EventResult, time.Now(), result)
		if err != nil {
			return err
		}
		x = x.Append(session.User(session.Text(fmt.Sprint(n, " of ", seed%2))))
		b := store.Batch{Events: []store.Event{first, second}, Sessions: []session.Session{x}, Objects: [][]byte{[]byte(fmt.Sprint("object ", n))}}
		if err := s.Append(ctx, l, b).Wait(ctx); err != nil {
			return err
		}
		head = second.Head()
		out <- note{Run: id, Seq: head.Seq, Last: x.ID(), Sum: x.Digest()}
		if n%10 == 0 {
			if _, err := s.Renew(ctx, l, time.Hour); err != nil {
				return err
			}
			if _, err := s.Session(ctx, x.ID()); err != nil {
				return err
			}
		}
		if x.Len() > 50 {
			x = session.FromUser("the same in all")
		}
	}
	return nil
}

// start runs the test binary with a task. The notes come as the child writes them.
func (t task) start(tb testing.TB) (kill func(), notes <-chan note) {
	tb.Helper()
	text, err := json.Marshal(t)
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), taskVar+"="+string(text))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		tb.Fatal(err)
	}
	lines := make(chan note, 1<<16)
	go func() {
		defer close(lines)
		for scan := bufio.NewScanner(pipe); scan.Scan(); {
			var n note
			if json.Unmarshal(scan.Bytes(), &n) == nil { // the last may be cut
				lines <- n
			}
		}
		_ = cmd.Wait()
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range lines {
		}
	})
	return func() { _ = cmd.Process.Kill() }, lines
}

// acknowledged is the last note of each run.
type acknowledged map[session.ID]note

func (a acknowledged) add(t testing.TB, n note) {
	t.Helper()
	if n.Error != "" {
		t.Errorf("a process failed: %s", n.Error)
	}
	if !n.Run.IsZero() {
		a[n.Run] = n
	}
}

// check reads everything, which verifies it, and looks whether what was acknowledged is
// there.
func (a acknowledged) check(t testing.TB, path string) {
	t.Helper()
	s := openFile(t, path, nil)
	seen := 0
	for r, err := range s.Runs(t.Context(), store.RunFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		var last int64
		for e, err := range s.Events(t.Context(), r.ID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			last = e.Seq
		}
		n := a[r.ID]
		if last < n.Seq || r.Head.Seq != last {
			t.Errorf("run %s has %d events, its head is %d, and %d were acknowledged", r.ID, last, r.Head.Seq, n.Seq)
		}
		if n.Seq > 0 {
			seen++
			if x, err := s.Session(t.Context(), n.Last); err != nil || x.Digest() != n.Sum {
				t.Errorf("session %s: %v", n.Last, err)
			}
		}
	}
	if seen != len(a) {
		t.Errorf("%d of %d runs are there", seen, len(a))
	}
	for h, err := range s.Heads(t.Context(), store.SessionFilter{Limit: 500}) {
		if err == nil {
			_, err = s.Session(t.Context(), h.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	integrity(t, path)
}

func integrity(t testing.TB, path string) {
	t.Helper()
	db, err := sqlitedb.Connect(path, "mode=rw", sqlitedb.ReaderPragmas)
	if err != nil {
		t.Fatal(err)
	}
	var verdict string
	err = db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict)
	if err := errors.Join(err, db.Close()); err != nil || verdict != "ok" {
		t.Errorf("integrity: %q, %v", verdict, err)
	}
}

func TestTwoProcessesUnderLoad(t *testing.T) {
	long := 2 * time.Second
	if text := os.Getenv(loadVar); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "rath.db") // both make it
	_, a := task{Path: path, Runs: 8, For: long}.start(t)
	_, b := task{Path: path, Runs: 8, For: long}.start(t)
	acks, events := acknowledged{}, 0
	for a != nil || b != nil {
		var n note
		var ok bool
		select {
		case n, ok = <-a:
			if !ok {
				a = nil
			}
		case n, ok = <-b:
			if !ok {
				b = nil
			}
		}
		acks.add(t, n)
		events += 2
	}
	if len(acks) != 16 {
		t.Errorf("%d runs were driven", len(acks))
	}
	acks.check(t, path)
	t.Logf("%d events in %v", events, long)
}

func TestKilledInMidLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	acks := acknowledged{}
	for range 4 {
		kill, notes := task{Path: path, Runs: 8}.start(t)
		left := 50 + rand.IntN(300)
		for n := range notes {
			acks.add(t, n)
			if left--; left == 0 {
				kill()
			}
		}
	}
	acks.check(t, path)
}

func TestOpenedByManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "rath.db")
	var wg sync.WaitGroup
	for range 3 {
		_, notes := task{Path: path, Runs: 1, Max: 1}.start(t)
		wg.Go(func() {
			for n := range notes {
				if n.Error != "" {
					t.Error(n.Error)
				}
			}
		})
	}
	for range 8 {
		wg.Go(func() {
			s, err := Open(t.Context(), path, nil)
			if err == nil {
				err = errors.Join(s.PutSessions(t.Context(), session.FromUser("x")), s.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestTornLog cuts and garbles the end of the log, as a crash of the machine may: what
// was committed before that place is there, in order, and nothing else.
func TestTornLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	kill, notes := task{Path: path, Runs: 1, Max: 60, Stay: true}.start(t)
	acks := acknowledged{}
	for n := range notes {
		if acks.add(t, n); n == (note{}) {
			kill()
		}
	}
	var run session.ID
	for run = range acks {
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	kept := func(log []byte) int64 {
		copied := filepath.Join(t.TempDir(), "rath.db")
		copyFile(t, path, copied)
		if err := os.WriteFile(copied+"-wal", log, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), copied, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var last int64
		for e, err := range s.Events(t.Context(), run, 0) {
			if err != nil {
				t.Fatal(err)
			}
			last = e.Seq
		}
		l := store.Lease{Run: run, Fence: 1}
		if r, err := s.Run(t.Context(), run); err == nil { // it goes on from there
			e, _ := r.Head.Next("test", time.Now(), nil)
			if err := s.Append(t.Context(), l, store.Batch{Events: []store.Event{e}}).Wait(t.Context()); err != nil {
				t.Error(err)
			}
		} else if last != 0 || !errors.Is(err, store.ErrNotFound) {
			t.Error(err)
		}
		integrity(t, copied)
		return last
	}
	if n := kept(log); n != acks[run].Seq {
		t.Fatalf("%d events of %d are in the whole log", n, acks[run].Seq)
	}
	const header = 32 // of the log
	before := int64(0)
	for _, at := range []int{header, len(log) / 4, len(log) / 2, len(log) - 5000, len(log) - 4096, len(log) - 100, len(log) - 1} {
		cut := kept(log[:at])
		garbled := append([]byte{}, log...)
		for i := at; i < min(at+64, len(log)); i++ {
			garbled[i] ^= 0x5a
		}
		if n := kept(garbled); n != cut {
			t.Errorf("garbled at %d of %d: %d events, cut there: %d", at, len(log), n, cut)
		}
		if cut < before || cut >= acks[run].Seq {
			t.Errorf("cut at %d of %d: %d events, with less of the log %d", at, len(log), cut, before)
		}
		before = cut
	}
	if before < acks[run].Seq-4 {
		t.Errorf("a torn last page cost %d events", acks[run].Seq-before)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

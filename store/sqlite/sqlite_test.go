package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(taskVar); task != "" {
		os.Exit(child(task))
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "rath.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestGrowth(t *testing.T) {
	turns, forks := growth(t)
	if turns > 1.3 || forks > 300 {
		t.Errorf("the file grows by %.2f B for each byte of a turn, by %.0f B for a fork", turns, forks)
	}
}

func TestFilesAreTheUsersOwn(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions are other ones there")
	}
	dir := filepath.Join(t.TempDir(), "a b", "50%?#ü")
	s := openFile(t, filepath.Join(dir, "rath.db"), nil)
	put(t, s, session.FromUser("x"))
	for path, want := range map[string]fs.FileMode{dir: fs.ModeDir | 0o700, "rath.db": 0o600, "rath.db-wal": 0o600, "rath.db-shm": 0o600} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
}

// alter runs SQL on a store's file, as another program could.
func alter(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sqlitedb.Connect(path, "mode=rwc", sqlitedb.WriterPragmas)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statements)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	sql := func(text string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) { alter(t, path, text) }
	}
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		o       *Options
		want    error
		text    string
	}{
		"a newer store": {sql(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 99; CREATE TABLE x (y)", schema.Application)), nil, store.ErrNewer, "version is 99, this program knows 1"},
		"text":          {write(strings.Repeat("this is no database\n", 500)), nil, store.ErrDamaged, "is damaged, or no store at all"},
		"a folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, sqlitedb.ErrNoFile, "no regular file"},
		"another program's":         {sql("CREATE TABLE x (y)"), nil, sqlitedb.ErrForeign, "another program"},
		"another program's version": {sql("PRAGMA user_version = 1"), nil, sqlitedb.ErrForeign, "another program"},
		"reading what is not there": {func(*testing.T, string) {}, &Options{ReadOnly: true}, fs.ErrNotExist, ""},
		"reading an older store":    {write(""), &Options{ReadOnly: true}, sqlitedb.ErrOlder, "older version"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rath.db")
			test.prepare(t, path)
			before, _ := os.ReadFile(path)
			s, err := Open(t.Context(), path, test.o)
			if err == nil {
				t.Fatal(errors.Join(errors.New("opened"), s.Close()))
			}
			var e *Error
			if !errors.As(err, &e) || e.Path != path || e.Hint() == "" || !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("the error is %v", err)
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

func TestOpenBelowAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var e *Error
	if _, err := Open(t.Context(), filepath.Join(file, "rath.db"), nil); !errors.As(err, &e) {
		t.Errorf("the error is %v", err)
	}
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	s := openFile(t, path, nil)
	x := session.FromUser("x").Fork()
	put(t, s, x)
	r := openFile(t, path, &Options{ReadOnly: true})
	if _, err := r.Session(t.Context(), x.ID()); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := r.PutSessions(t.Context(), x); !errors.Is(err, ErrReadOnly) || !errors.As(err, &e) || e.Hint() == "" {
		t.Errorf("PutSessions: %v", err)
	}
	if err := r.Append(t.Context(), store.Lease{}, store.Batch{}).Wait(t.Context()); !errors.Is(err, ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	y := x.Fork()
	put(t, s, y) // beside the reader, who sees it
	if _, err := r.Session(t.Context(), y.ID()); err != nil {
		t.Error(err)
	}
}

func TestTooLarge(t *testing.T) {
	s := open(t, &Options{MaxObject: 1000})
	large := bytes.Repeat([]byte("x"), 1001)
	if _, err := s.PutObject(t.Context(), large[:1000]); err != nil {
		t.Error(err)
	}
	if _, err := s.PutObject(t.Context(), large); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("PutObject: %v", err)
	}
	x := session.FromUser("small").Append(session.User(session.Text(string(large))))
	if err := s.PutSessions(t.Context(), x); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("PutSessions: %v", err)
	}
	l, _ := newRun(t, s)
	if err := s.Append(t.Context(), l, store.Batch{Objects: [][]byte{large}}).Wait(t.Context()); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("Append: %v", err)
	}
	for h, err := range s.Heads(t.Context(), store.SessionFilter{}) {
		t.Errorf("kept: %v, %v", h.ID, err)
	}
}

// A job that fails half done is undone, and the others of its transaction are kept.
func TestOneBadJob(t *testing.T) {
	s := open(t, &Options{MaxObject: 1000})
	bad := session.FromUser("fine").Append(session.User(session.Text(strings.Repeat("x", 2000))))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			x := session.FromUser(fmt.Sprint(i))
			if i%8 == 0 {
				x = bad.Fork()
			}
			if err := s.PutSessions(t.Context(), x); (err == nil) == (i%8 == 0) {
				t.Errorf("session %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	n := 0
	for range s.Heads(t.Context(), store.SessionFilter{}) {
		n++
	}
	if n != 56 {
		t.Errorf("%d sessions are kept", n)
	}
}

func TestDamageIsSeen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	s := openFile(t, path, nil)
	x := session.FromUser("one").Append(session.User(session.Text(strings.Repeat("two ", 1000))))
	put(t, s, x)
	object, err := s.PutObject(t.Context(), []byte("object"))
	if err != nil {
		t.Fatal(err)
	}
	l, head := newRun(t, s)
	e, _ := head.Next("test", time.Now(), "x")
	if err := s.Append(t.Context(), l, store.Batch{Events: []store.Event{e}}).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	intact := func() (errs [3]error) {
		_, errs[0] = s.Session(t.Context(), x.ID())
		_, errs[1] = s.Object(t.Context(), object)
		for _, err := range s.Events(t.Context(), l.Run, 0) {
			errs[2] = err
		}
		return errs
	}
	if got := intact(); got != [3]error{} {
		t.Fatal(got)
	}
	for _, damage := range []string{
		"UPDATE objects SET body = CAST(x'78' || body AS BLOB); UPDATE events SET body = CAST(body || x'20' AS BLOB)",
		"UPDATE objects SET size = 1 << 40; UPDATE events SET seq = seq + 100",
		"UPDATE objects SET size = -1; DELETE FROM events WHERE seq = 2",
		"UPDATE objects SET body = x'', size = 5",
		"UPDATE sessions SET len = 7; UPDATE objects SET body = x'00', size = NULL",
		"DELETE FROM entries WHERE prev = 0; UPDATE objects SET body = x''",
	} {
		alter(t, path, damage)
		for i, err := range intact() {
			if i < 2 && (!errors.Is(err, store.ErrDamaged) || i == 0 && !strings.Contains(err.Error(), x.ID().String())) || i == 2 && !errors.Is(err, store.ErrDamaged) {
				t.Errorf("after %s: error %d is %v", damage, i, err)
			}
		}
	}
}

// What a store remembers of rows holds only until another process changes them.
func TestTwoStoresOnOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	a, b := openFile(t, path, nil), openFile(t, path, nil)
	ctx := t.Context()
	x := session.FromUser("x")
	put(t, a, x)
	if c, err := b.Collect(ctx, store.Collection{Before: time.Now().Add(time.Hour)}); err != nil || c.Sessions != 1 {
		t.Fatal(c, err)
	}
	y := x.Append(session.User())
	put(t, a, y)
	for _, s := range []session.Session{x, y} {
		if _, err := b.Session(ctx, s.ID()); err != nil {
			t.Error(err)
		}
	}
	l, head := newRun(t, a)
	next := func() store.Batch {
		e, err := head.Next("test", time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		head = e.Head()
		return store.Batch{Events: []store.Event{e}}
	}
	if err := a.Append(ctx, l, next()).Wait(ctx); err != nil {
		t.Fatal(err)
	}
	r, err := b.Acquire(ctx, l.Run, "b", time.Hour, l.Fence)
	if err != nil || r.Head != head {
		t.Fatal(r, err)
	}
	before := head
	if err := a.Append(ctx, l, next()).Wait(ctx); !errors.Is(err, store.ErrFenced) {
		t.Errorf("who lost the lease: %v", err)
	}
	head = before
	for _, s := range []store.Store{b, a, b} {
		if err := s.Append(ctx, r.Lease, next()).Wait(ctx); err != nil {
			t.Error(err)
		}
	}
}

// lock keeps others from writing until unlock.
func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sqlitedb.Connect(path, "mode=rw", sqlitedb.WriterPragmas)
	if err != nil {
		t.Fatal(err)
	}
	c, err := db.Conn(context.Background())
	if err == nil {
		_, err = c.ExecContext(context.Background(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	return sync.OnceFunc(func() {
		_, err := c.ExecContext(context.Background(), "ROLLBACK")
		if err := errors.Join(err, c.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
}

func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	s := openFile(t, path, nil)
	l, head := newRun(t, s)
	unlock := lock(t, path)
	defer unlock()
	e, err := head.Next("test", time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	appended := s.Append(t.Context(), l, store.Batch{Events: []store.Event{e}})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	x := session.FromUser("withdrawn")
	if err := s.PutSessions(ctx, x); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a job whose context ended: %v", err)
	}
	if _, err := s.Run(t.Context(), l.Run); err != nil {
		t.Errorf("reading waits for writing: %v", err)
	}
	unlock()
	if err := appended.Wait(t.Context()); err != nil {
		t.Errorf("a job that waited: %v", err)
	}
	if _, err := s.Session(t.Context(), x.ID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a job that was withdrawn: %v", err)
	}
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rath.db")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, _ := newRun(t, s)
	unlock := lock(t, path)
	defer unlock()
	s.(*database).writer.patience = 20 * time.Millisecond
	appended := s.Append(t.Context(), l, store.Batch{State: &store.StateChange{State: store.Waiting}})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := appended.Wait(t.Context()); !errors.Is(err, sqlitedb.ErrLocked) {
		t.Errorf("a job that could not be done: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

// Who queues more than there is room for waits.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := q.put(t.Context(), &job{size: maxQueued * 2}); err != nil {
		t.Fatal(err)
	}
	if err := q.put(ctx, &job{}); !errors.Is(err, context.Canceled) {
		t.Errorf("put without room: %v", err)
	}
	if jobs := q.take(); len(jobs) != 1 {
		t.Errorf("%d jobs", len(jobs))
	}
	if err := q.put(t.Context(), &job{}); err != nil {
		t.Errorf("put with room: %v", err)
	}
	q.close()
	if err := q.put(t.Context(), &job{}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("put after close: %v", err)
	}
	if n := len(q.take()) + len(q.take()); n != 1 {
		t.Errorf("%d jobs are left", n)
	}
}

// Sessions whose ancestors go beyond what is remembered are kept all the same.
func TestLongLineage(t *testing.T) {
	s := open(t, nil)
	x := session.FromUser("root")
	const n = 2*maxKept + 10
	for range n {
		x = x.Fork()
	}
	put(t, s, x)
	x = x.Fork()
	put(t, s, x)
	count := 0
	for _, err := range s.Heads(t.Context(), store.SessionFilter{AncestorsOf: []session.ID{x.ID()}}) {
		if err != nil {
			t.Fatal(err)
		}
		count++
	}
	if count != n+2 {
		t.Errorf("%d sessions, want %d", count, n+2)
	}
}

package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/memorytest"
)

// clock is one that tests move on.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(time.Microsecond)
	return c.t
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func openDir(t testing.TB, dir string, o *Options) *database {
	t.Helper()
	d, err := open(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{"words": {}, "meanings": {Embedder: hashed("test")}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClock()
			o.Now = c.now
			memorytest.Suite{
				Open:    func(t *testing.T) driver.Store { return openDir(t, t.TempDir(), &o) },
				Advance: c.advance,
			}.Run(t)
		})
	}
}

func TestFilesAreForTheUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "memory")
	keepNote(t, openDir(t, dir, nil), "memory://user/a", "x")
	for name, want := range map[string]fs.FileMode{".": 0o700, FileName: 0o600, FileName + "-wal": 0o600, FileName + "-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func keepNote(t testing.TB, d driver.Store, uri driver.URI, text string) {
	t.Helper()
	if _, err := d.Put(t.Context(), driver.Replace, driver.Note{URI: uri, Text: text}); err != nil {
		t.Fatal(err)
	}
}

// statement prepares a file with a statement.
func statement(query string) func(*testing.T, string) {
	return func(t *testing.T, path string) {
		db, err := sqlitedb.Connect(path, "mode=rwc", sqlitedb.WriterPragmas)
		if err == nil {
			_, err = db.ExecContext(t.Context(), query)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	noise := func(t *testing.T, path string) {
		if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 1000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	torn := func(t *testing.T, path string) {
		d := openDir(t, filepath.Dir(path), nil)
		for i := range 100 {
			keepNote(t, d, driver.URI(fmt.Sprint("memory://user/", i)), strings.Repeat("text ", 100))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(make([]byte, 4096-100), 100) // the schema is here
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	folder := func(t *testing.T, path string) {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		prepare func(*testing.T, string)
		want    error
		text    string
	}{
		"a newer memory":    {statement(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 99; CREATE TABLE x (y)", schema.Application)), ErrNewer, "version is 99, this program knows 2"},
		"another program's": {statement("CREATE TABLE x (y)"), sqlitedb.ErrForeign, "another program"},
		"noise":             {noise, ErrDamaged, "damaged, or no memory"},
		"a torn file":       {torn, ErrDamaged, "damaged, or no memory"},
		"a folder":          {folder, sqlitedb.ErrNoFile, "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			test.prepare(t, filepath.Join(dir, FileName))
			d, err := open(t.Context(), dir, nil)
			if err == nil {
				t.Fatal(errors.Join(errors.New("opened"), d.Close()))
			}
			var e *Error
			if !errors.Is(err, test.want) || !errors.As(err, &e) || e.Hint() == "" || !strings.Contains(err.Error(), test.text) || strings.Count(err.Error(), dir) != 1 {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// Changes that were queued when the memory is closed are made.
func TestCloseKeepsWhatIsUnderWay(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir, nil)
	var kept atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			_, err := d.Put(context.Background(), driver.Replace, driver.Note{URI: driver.URI(fmt.Sprint("memory://user/", i)), Text: "x"})
			if err == nil {
				kept.Add(1)
			} else if !errors.Is(err, driver.ErrClosed) {
				t.Error(err)
			}
		})
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	s, err := openDir(t, dir, nil).Stats(t.Context())
	if err != nil || s.Notes["user"] != int(kept.Load()) {
		t.Errorf("%d notes were acknowledged, %+v, %v", kept.Load(), s, err)
	}
}

// Readers that never all leave do not let the log grow without end.
func TestLogIsBegunAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir, nil)
	keepNote(t, d, "memory://user/a", "x")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { relay(t, d, stop) })
	text, longest := strings.Repeat("green tea ", 100_000), int64(0)
	for i := range 40 {
		keepNote(t, d, driver.URI(fmt.Sprint("memory://user/", i%4)), fmt.Sprint(i, text))
		info, err := os.Stat(filepath.Join(dir, FileName+"-wal"))
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, info.Size())
	}
	close(stop)
	wg.Wait()
	if longest > 2*maxLog {
		t.Errorf("the log has grown to %d bytes", longest)
	}
}

// relay has always somebody who reads: each begins before the last has ended.
func relay(t *testing.T, d *database, stop <-chan struct{}) {
	var wg sync.WaitGroup
	defer wg.Wait()
	last := make(chan struct{})
	defer func() { close(last) }()
	for {
		begun, end := make(chan struct{}), make(chan struct{})
		wg.Go(func() {
			err := d.read(context.Background(), func(ctx context.Context, tx querier) error {
				defer func() { <-end }()
				defer close(begun)
				return tx.QueryRowContext(ctx, "SELECT count(*) FROM notes").Scan(new(int))
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-begun
		close(last)
		last = end
		select {
		case <-stop:
			return
		case <-time.After(80 * time.Millisecond): // several writes
		}
	}
}

// Who waits for another process that has the file locked may stop waiting.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	d := openDir(t, dir, nil)
	keepNote(t, d, "memory://user/a", "x")
	db, err := sqlitedb.Connect(filepath.Join(dir, FileName), "mode=rw", sqlitedb.WriterPragmas)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err == nil {
		_, err = c.ExecContext(t.Context(), "BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Put(ctx, driver.Replace, driver.Note{URI: "memory://user/b", Text: "x"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
	if _, err := d.Get(t.Context(), "memory://user/a"); err != nil {
		t.Errorf("reading meanwhile: %v", err)
	}
	if _, err := c.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	keepNote(t, d, "memory://user/c", "x")
	if _, err := d.Get(t.Context(), "memory://user/b"); !errors.Is(err, driver.ErrNotFound) {
		t.Errorf("what nobody waited for: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/internal/sqlitedb"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var intent = store.Intent{
	Path: "review/draft", Kind: "tool", Name: "read_file", Class: "read_only", Digest: session.Digest{1, 2, 3},
	Input: json.RawMessage(`{"path":"internal/server/handler.go","offset":120,"limit":80}`),
}

var result = store.Result{Effect: 1, Value: json.RawMessage(`{"$object":"7dab8e8cfa3b8274280e757ed86db9c054376140421a994accc305a955ecf37b"}`), TookUS: 1234}

// bodies are the events of one effect: "result" notes its result alone, "effect" its
// intent before that.
var bodies = map[string][]any{"result": {result}, "effect": {intent, result}}

// effects runs a benchmark with several runs side by side, each of which waits for the
// disk after every event.
func effects(b *testing.B, open func(b *testing.B) (add func(run int) func(event any) error)) {
	for _, kind := range []string{"result", "effect"} {
		for _, parallel := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("%s/%d", kind, parallel), func(b *testing.B) {
				add := open(b)
				var wg sync.WaitGroup
				left := make(chan struct{}, parallel)
				b.ResetTimer()
				for run := range parallel {
					one := add(run)
					wg.Go(func() {
						for range left {
							for _, body := range bodies[kind] {
								if err := one(body); err != nil {
									b.Error(err)
								}
							}
						}
					})
				}
				for b.Loop() {
					left <- struct{}{}
				}
				close(left)
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "effects/s")
			})
		}
	}
}

// BenchmarkBare is the limit: the same rows in the same table and nothing else, with
// group commit and prepared statements.
func BenchmarkBare(b *testing.B) {
	effects(b, func(b *testing.B) func(int) func(any) error {
		w := openBare(b)
		encoded := map[bool][]byte{}
		for i, body := range []any{intent, result} {
			encoded[i == 1], _ = json.Marshal(body)
		}
		return func(run int) func(any) error {
			seq, hash, done := 0, session.Digest{}, make(chan error, 1)
			return func(body any) error {
				seq++
				_, isResult := body.(store.Result)
				w.rows <- bareRow{[]any{run, seq, time.Now().UnixMicro(), store.EventIntent, encoded[isResult], hash[:]}, done}
				return <-done
			}
		}
	})
}

type bare struct {
	rows                  chan bareRow
	begin, insert, commit *sql.Stmt
}

type bareRow struct {
	args []any
	done chan error
}

func openBare(b *testing.B) *bare {
	db, err := sqlitedb.Connect(filepath.Join(b.TempDir(), "bare.db"), "mode=rwc", sqlitedb.WriterPragmas)
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	c, err := db.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	events := schema1[strings.Index(schema1, "CREATE TABLE events"):strings.Index(schema1, "CREATE TABLE interrupts")]
	statements := "PRAGMA journal_mode = WAL; CREATE TABLE runs (num INTEGER PRIMARY KEY);" + events
	for run := range 128 {
		statements += fmt.Sprintf("INSERT INTO runs VALUES (%d);", run)
	}
	if _, err := c.ExecContext(ctx, statements); err != nil {
		b.Fatal(err)
	}
	w := &bare{rows: make(chan bareRow, 128)}
	for query, s := range map[string]**sql.Stmt{
		"BEGIN IMMEDIATE": &w.begin, "COMMIT": &w.commit,
		"INSERT INTO events (run, seq, time, kind, body, hash) VALUES (?, ?, ?, ?, ?, ?)": &w.insert,
	} {
		if *s, err = c.PrepareContext(ctx, query); err != nil {
			b.Fatal(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.loop(ctx)
	}()
	b.Cleanup(func() {
		close(w.rows)
		<-ended
		c.Close()
		db.Close()
	})
	return w
}

func (w *bare) loop(ctx context.Context) {
	for r := range w.rows {
		batch := []bareRow{r}
		for n := len(w.rows); n > 0; n-- {
			batch = append(batch, <-w.rows)
		}
		_, err := w.begin.ExecContext(ctx)
		for _, r := range batch {
			if err == nil {
				_, err = w.insert.ExecContext(ctx, r.args...)
			}
		}
		if err == nil {
			_, err = w.commit.ExecContext(ctx)
		}
		for _, r := range batch {
			r.done <- err
		}
	}
}

// BenchmarkAppend is the same through the store.
func BenchmarkAppend(b *testing.B) {
	effects(b, func(b *testing.B) func(int) func(any) error {
		s := open(b, nil)
		return func(int) func(any) error {
			l, head := newRun(b, s)
			ctx := b.Context()
			return func(body any) error {
				e, err := head.Next(store.EventIntent, time.Now(), body)
				if err != nil {
					return err
				}
				head = e.Head()
				return s.Append(ctx, l, store.Batch{Events: []store.Event{e}}).Wait(ctx)
			}
		}
	})
}

// BenchmarkRun makes runs of one step, from the input to the output, each waiting for the
// disk twice.
func BenchmarkRun(b *testing.B) {
	for _, parallel := range []int{1, 64} {
		b.Run(fmt.Sprint(parallel), func(b *testing.B) {
			s := open(b, nil)
			var wg sync.WaitGroup
			left := make(chan struct{}, parallel)
			for range parallel {
				wg.Go(func() {
					for range left {
						if err := oneStep(b.Context(), s); err != nil {
							b.Error(err)
						}
					}
				})
			}
			for b.Loop() {
				left <- struct{}{}
			}
			close(left)
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

func oneStep(ctx context.Context, s store.Store) error {
	id, at := session.NewID()
	l := store.Lease{Run: id, Owner: "bench", Fence: 1, Expires: at.Add(time.Hour)}
	input := session.FromUser("What is a monad?")
	var head store.Head
	var err error
	events := func(bodies ...any) (list []store.Event) {
		for _, body := range bodies {
			var e store.Event
			if e, err = head.Next(store.EventIntent, time.Now(), body); err != nil {
				return nil
			}
			head = e.Head()
			list = append(list, e)
		}
		return list
	}
	created := events(store.Created{Run: id, Name: "bench", Input: input.ID(), Digest: input.Digest()}, intent)
	if err == nil {
		err = s.CreateRun(ctx, store.Run{ID: id, Name: "bench", Input: input.ID(), State: store.Running, Created: at, Lease: l},
			store.Batch{Events: created, Sessions: []session.Session{input}}).Wait(ctx)
	}
	if err != nil {
		return err
	}
	output := input.Derive(input.Transcript().Append(session.Assistant([]session.Part{session.Text("A monoid in the category of endofunctors.")})), session.Step{Run: id.String(), Path: "bench"})
	change := store.StateChange{State: store.Succeeded, Output: output.ID(), Digest: output.Digest()}
	ended := events(result, store.SessionMade{ID: output.ID(), Digest: output.Digest()}, change)
	if err != nil {
		return err
	}
	return s.Append(ctx, l, store.Batch{Events: ended, Sessions: []session.Session{output}, State: &change}).Wait(ctx)
}

func open(t testing.TB, o *Options) store.Store {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "rath.db"), o)
}

func openFile(t testing.TB, path string, o *Options) store.Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newRun makes a run with its first event.
func newRun(t testing.TB, s store.Store) (store.Lease, store.Head) {
	t.Helper()
	id, at := session.NewID()
	l := store.Lease{Run: id, Owner: "test", Fence: 1, Expires: at.Add(time.Hour)}
	e, err := store.Head{}.Next(store.EventCreated, at, store.Created{Run: id, Name: "bench"})
	if err == nil {
		r := store.Run{ID: id, Name: "bench", State: store.Running, Lease: l}
		err = s.CreateRun(t.Context(), r, store.Batch{Events: []store.Event{e}}).Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return l, e.Head()
}

var words = strings.Fields(`the handler reads request body and returns an error when parsing fails so tests should cover both paths
func return err nil if context cancel timeout server client store session value string int range for package import file line
we must check whether this function holds lock before calling write which could block other goroutines until buffer drains`)

// prose is text of about n bytes that compresses as text does.
func prose(r *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[r.IntN(len(words))])
		if r.IntN(6) == 0 {
			fmt.Fprintf(&b, "_%x", r.IntN(1<<20))
		}
		b.WriteByte(" \n"[min(r.IntN(12), 1)^1])
	}
	return b.String()
}

// between draws a size; small ones are more frequent.
func between(r *rand.Rand, low, high float64) int {
	return int(low * math.Exp(r.Float64()*math.Log(high/low)))
}

// turn is what a user's request adds: the request, a call, its result, the answer.
func turn(r *rand.Rand) (asked, rest []session.Chunk) {
	id := fmt.Sprintf("toolu_%016x", r.Uint64())
	asked = []session.Chunk{session.User(session.Text(prose(r, between(r, 100, 600))))}
	rest = []session.Chunk{
		session.Assistant([]session.Part{session.Text(prose(r, between(r, 80, 400)))},
			session.Call{ID: id, Name: "read_file", Arguments: `{"path":"internal/server/handler.go","offset":120,"limit":80}`}),
		session.ToolResult(session.Answer{CallID: id, Tool: "read_file"}, session.Text(prose(r, between(r, 200, 8000)))),
		session.Assistant([]session.Part{session.Text(prose(r, between(r, 300, 2500)))}),
	}
	return asked, rest
}

// take adds a turn to a session, as an agent does.
func take(s session.Session, r *rand.Rand) session.Session {
	asked, rest := turn(r)
	s = s.Append(asked...)
	return s.Derive(s.Transcript().Append(rest...), session.Step{
		Path: "review/draft", Run: "01a1fd31-9b48-7392-a4b9-6cc1ec350fbd",
		Usage: session.Usage{Calls: 2, Input: 12_345, Output: 678, CacheRead: 11_000, Cost: session.Cost{Nano: 1_234_567}},
	})
}

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// BenchmarkPutTurn keeps sessions of 1,000 and 10,000 chunks that had a turn more.
func BenchmarkPutTurn(b *testing.B) {
	for _, turns := range []int{0, 250, 2500} {
		b.Run(fmt.Sprint(4*turns), func(b *testing.B) {
			s, r := open(b, nil), seeded()
			x := session.New()
			for range turns {
				x = take(x, r).Detach()
			}
			put(b, s, x)
			for b.Loop() {
				x = take(x, r)
				put(b, s, x)
			}
		})
	}
}

func put(t testing.TB, s store.Store, x session.Session) {
	t.Helper()
	if err := s.PutSessions(t.Context(), x); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkPutFork keeps forks of a session of 10,000 chunks; detached, nothing but the
// content tells where they belong.
func BenchmarkPutFork(b *testing.B) {
	for _, kind := range []string{"fork", "detached", "middle"} {
		b.Run(kind, func(b *testing.B) {
			s, r := open(b, nil), seeded()
			x := session.New()
			for range 2500 {
				x = take(x, r).Detach()
			}
			put(b, s, x)
			for b.Loop() {
				f := x.Fork()
				switch kind {
				case "detached":
					f = x.Detach()
				case "middle":
					var err error
					if f, err = x.ForkAt(4 * r.IntN(2500)); err != nil {
						b.Fatal(err)
					}
				}
				put(b, s, f)
			}
		})
	}
}

// BenchmarkLoad reads a session of 10,000 chunks.
func BenchmarkLoad(b *testing.B) {
	for _, size := range []string{"short", "turns"} {
		b.Run(size, func(b *testing.B) {
			s, r := open(b, nil), seeded()
			x := session.New()
			for i := range 2500 {
				if size == "turns" {
					x = take(x, r).Detach()
					continue
				}
				for j := range 4 {
					x = x.Append(session.User(session.Text(fmt.Sprintf("message %d of turn %d: please go on", j, i)))).Detach()
				}
			}
			put(b, s, x)
			b.ResetTimer()
			for b.Loop() {
				y, err := s.Session(b.Context(), x.ID())
				if err != nil || y.Len() != 10_000 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkHeads lists 100,000 sessions.
func BenchmarkHeads(b *testing.B) {
	s := open(b, nil)
	root := session.FromUser("hello")
	x, last := root, root.ID()
	for range 100 {
		var all []session.Session
		for range 1000 {
			x = x.Fork()
			all = append(all, x)
		}
		if err := s.PutSessions(b.Context(), all...); err != nil {
			b.Fatal(err)
		}
		last, x = x.ID(), x.Detach()
	}
	for name, f := range map[string]store.SessionFilter{
		"all": {}, "newest": {Newest: true}, "ten": {Newest: true, Limit: 10}, "path": {Path: "none"},
		"descendants": {DescendantsOf: []session.ID{root.ID()}}, "ancestors": {AncestorsOf: []session.ID{last}},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = 0
				for _, err := range s.Heads(b.Context(), f) {
					if err != nil {
						b.Fatal(err)
					}
					n++
				}
			}
			b.ReportMetric(float64(n), "sessions")
		})
	}
}

// BenchmarkSize measures the file.
func BenchmarkSize(b *testing.B) {
	for b.Loop() {
		turns, forks := growth(b)
		b.ReportMetric(turns, "B/transcript-B")
		b.ReportMetric(forks, "B/fork")
	}
}

// growth returns by how much the file grows for each byte of the chunks of 1,000 turns,
// and for each fork.
func growth(t testing.TB) (turns, forks float64) {
	path := filepath.Join(t.TempDir(), "rath.db")
	size := func() int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	checkpoint := func() int64 { // closing the last connection does it
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		n := size()
		if s, err = Open(t.Context(), path, nil); err != nil {
			t.Fatal(err)
		}
		return n
	}
	empty := checkpoint()
	x, r := session.New(), seeded()
	for range 20 {
		for range 50 {
			x = take(x, r)
		}
		put(t, s, x)
	}
	full := checkpoint()
	var bytes int
	for _, c := range x.All() {
		data, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		bytes += len(data)
	}
	all := make([]session.Session, 1000)
	for i := range all {
		all[i] = x.Fork()
	}
	if err := s.PutSessions(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	end := checkpoint()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return float64(full-empty) / float64(bytes), float64(end-full) / 1000
}

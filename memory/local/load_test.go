package local

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	command "os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// The test binary runs itself to be another process, with a load as JSON.
const loadVar = "RATH_MEMORY_LOAD"

func TestMain(m *testing.M) {
	if text := os.Getenv(loadVar); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// load is what a process does with a memory.
type load struct {
	Dir     string
	Workers []int         // their numbers: each has folders of its own
	Seed    uint64        // of what they do
	Model   string        // of the embedder
	For     time.Duration // 0: until it is killed
}

// line is what a process says, before and after it changes something.
type line struct {
	Worker   int
	Will     map[driver.URI]string `json:",omitempty"` // notes and their texts to be; empty: to be gone
	Did      bool                  `json:",omitempty"` // what it would
	Archived *session.Digest       `json:",omitempty"`
	Finished *session.Digest       `json:",omitempty"` // the job of this
	Error    string                `json:",omitempty"`
}

// child is the process.
func child(text string) int {
	var l load
	err := json.Unmarshal([]byte(text), &l)
	var d *database
	if err == nil {
		d, err = open(context.Background(), l.Dir, &Options{Embedder: hashed(l.Model), Lease: 300 * time.Millisecond})
	}
	var out voice
	if err != nil {
		out.say(line{Error: err.Error()})
		return 1
	}
	l.run(d, &out)
	if err := d.Close(); err != nil {
		out.say(line{Error: err.Error()})
	}
	return 0
}

// voice writes lines. What was said is heard, whatever becomes of the process.
type voice struct{ mu sync.Mutex }

func (v *voice) say(x line) {
	data, _ := json.Marshal(x)
	v.mu.Lock()
	defer v.mu.Unlock()
	fmt.Println(string(data))
}

func (l load) run(d *database, out *voice) {
	ctx := context.Background()
	if l.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, l.For)
		defer cancel()
	}
	var wg sync.WaitGroup
	for _, n := range l.Workers {
		w := &worker{d: d, n: n, out: out, r: rand.New(rand.NewPCG(l.Seed, uint64(n)))}
		for _, do := range []func() error{w.write, w.commit, w.extract, w.read} {
			wg.Go(func() {
				err := w.prepare()
				for err == nil && ctx.Err() == nil {
					err = do()
				}
				if err != nil {
					out.say(line{Worker: n, Error: err.Error()})
				}
			})
		}
	}
	wg.Wait()
}

// worker does things of all kinds.
type worker struct {
	d   *database
	n   int
	out *voice

	mu    sync.Mutex // of r
	r     *rand.Rand
	once  sync.Once
	names map[driver.URI]bool // of its notes
	s     session.Session
}

func (w *worker) folder() driver.URI { return driver.URI(fmt.Sprint("memory://user/w", w.n)) }

// facts is where notes are about one thing.
func (w *worker) facts() driver.URI { return driver.URI(fmt.Sprint("memory://agent/w", w.n)) }

// extracted is what the job of a transcript gives.
func extracted(d session.Digest) driver.URI {
	return driver.URI("memory://resources/jobs/" + d.String())
}

func (w *worker) prepare() (err error) {
	w.once.Do(func() {
		w.names = map[driver.URI]bool{}
		entries, problem := w.d.List(context.Background(), w.folder())
		if err = problem; errors.Is(problem, driver.ErrNotFound) {
			err = nil
		}
		for _, e := range entries {
			w.names[e.URI] = true
		}
	})
	return err
}

func (w *worker) rand(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r.IntN(n)
}

// text is a note that no other says.
func (w *worker) text() string {
	return fmt.Sprintf("stamp%dx%d %s", w.n, rand.Uint64(), strings.Repeat("likes green tea 绿茶 ", w.rand(40)))
}

func (w *worker) note() driver.Note {
	return driver.Note{URI: w.folder().Join(fmt.Sprint("n", w.rand(30))), Text: w.text()}
}

// write changes notes: it puts one or several, removes or moves one.
func (w *worker) write() error {
	ctx := context.Background()
	will := map[driver.URI]string{}
	var do func() error
	switch some, ok := w.some(); {
	case ok && w.rand(5) == 0:
		will[some] = ""
		do = func() error { _, err := w.d.Remove(ctx, some, false); return err }
	case ok && w.rand(5) == 0:
		n, err := w.d.Get(ctx, some)
		if err != nil {
			return err
		}
		to := w.folder().Join(fmt.Sprint("m", rand.Uint64()))
		will[some], will[to] = "", n.Text
		do = func() error { return w.d.Move(ctx, some, to) }
	case w.rand(4) == 0:
		n := driver.Note{URI: w.facts().Join(fmt.Sprint(rand.Uint64())), Text: w.text(), About: "city"}
		will[n.URI] = n.Text
		do = func() error { _, err := w.d.Put(ctx, driver.Merge, n); return err }
	default:
		notes := make([]driver.Note, 1+w.rand(4))
		for i := range notes {
			notes[i] = w.note()
			will[notes[i].URI] = notes[i].Text
		}
		do = func() error { _, err := w.d.Put(ctx, driver.Replace, notes...); return err }
	}
	w.out.say(line{Worker: w.n, Will: will})
	if err := do(); err != nil {
		return fmt.Errorf("write %v: %w", will, err)
	}
	w.out.say(line{Worker: w.n, Did: true})
	for uri, text := range will {
		if delete(w.names, uri); text != "" && uri.In(w.folder()) {
			w.names[uri] = true
		}
	}
	return nil
}

func (w *worker) some() (driver.URI, bool) {
	for uri := range w.names {
		return uri, true
	}
	return "", false
}

// commit archives a session that grows, or begins another.
func (w *worker) commit() error {
	if w.s.Len() == 0 || w.s.Len() > 40 {
		w.s = session.FromUser(fmt.Sprint("session of ", w.n, " ", rand.Uint64()))
	}
	w.s = w.s.Append(session.User(session.Text(w.text())))
	digest := w.s.Digest()
	_, err := w.d.Archive(context.Background(), driver.Archive{Session: w.s.ID(), Transcript: w.s.Transcript()}, true)
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	w.out.say(line{Worker: w.n, Archived: &digest})
	return nil
}

// extract does a job. It may have been too slow for its lease.
func (w *worker) extract() error {
	ctx := context.Background()
	j, ok, err := w.d.Claim(ctx, fmt.Sprint(w.n, "-", rand.Uint64()))
	if err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if !ok {
		time.Sleep(time.Millisecond)
		return nil
	}
	switch w.rand(10) {
	case 0:
		err = w.d.Fail(ctx, j, "by chance")
	case 1:
		err = w.d.Release(ctx, j)
	default:
		if err = w.d.Renew(ctx, j); err == nil {
			err = w.d.Finish(ctx, j, []driver.Note{{URI: extracted(j.Archive.Digest), Text: w.text()}})
		}
		if err == nil {
			w.out.say(line{Worker: w.n, Finished: &j.Archive.Digest})
		}
	}
	if errors.Is(err, driver.ErrConflict) {
		return nil
	}
	return err
}

// read looks around, also for what others write.
func (w *worker) read() error {
	ctx := context.Background()
	time.Sleep(time.Duration(w.rand(3000)) * time.Microsecond)
	other := driver.URI(fmt.Sprint("memory://user/w", w.rand(8)))
	_, err := w.d.List(ctx, other)
	if err == nil {
		_, err = w.d.Get(ctx, other.Join(fmt.Sprint("n", w.rand(30))))
	}
	if err != nil && !errors.Is(err, driver.ErrNotFound) {
		return fmt.Errorf("read: %w", err)
	}
	for _, match := range []driver.Matching{driver.MatchBest, driver.MatchWords} {
		q := driver.Query{Text: fmt.Sprint("green stamp ", w.rand(100)), Limit: 5, Match: match}
		if _, err := w.d.Find(ctx, q); err != nil {
			return fmt.Errorf("find: %w", err)
		}
	}
	_, err = w.d.Stats(ctx)
	return err
}

// start runs the test binary with a load. The lines come as it says them.
func (l load) start(t *testing.T) (kill func(), lines <-chan line) {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := command.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), loadVar+"="+string(text))
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	out := make(chan line, 1024)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(out)
		scan := bufio.NewScanner(pipe)
		for scan.Buffer(nil, 1<<20); scan.Scan(); {
			var x line
			if json.Unmarshal(scan.Bytes(), &x) == nil { // the last may be cut
				out <- x
			}
		}
		_ = cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		for range out {
		}
		<-ended
	})
	return func() { _ = cmd.Process.Kill() }, out
}

// hashed is an embedder: a vector counts the words with each hash. Its value is its name.
type hashed string

func (h hashed) String() string { return string(h) }

func (h hashed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(time.Millisecond):
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float32, 64)
		for word := range strings.FieldsSeq(string(h) + " " + text) {
			sum := fnv.New32a()
			_, _ = sum.Write([]byte(word))
			vectors[i][sum.Sum32()%64]++
		}
	}
	return vectors, nil
}

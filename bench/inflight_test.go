//go:build unix

package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

const (
	inFlight = 10_000
	latency  = 50 * time.Millisecond
	serving  = "RATH_BENCH_SERVER"
)

// TestInFlightServer is the process of the server that BenchmarkInFlight asks, so that the
// figures are those of one side alone.
func TestInFlightServer(t *testing.T) {
	if os.Getenv(serving) == "" {
		t.Skip("it is started by BenchmarkInFlight")
	}
	model := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
		return scripted.Reply{Text: "You said: " + req.Messages[len(req.Messages)-1].Text, Usage: &session.Usage{Input: 20, Output: 6}}
	})
	g := &gate{model: model, open: make(chan struct{})}
	close(g.open)
	s := httptest.NewUnstartedServer(g)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.Config.Protocols = protocols
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1000}
	s.Start()
	fmt.Println("serving " + s.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
	s.CloseClientConnections()
}

// gate answers a request after the latency, and not while it is held.
type gate struct {
	model   http.Handler
	waiting atomic.Int64

	mu   sync.Mutex
	open chan struct{}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/hold":
		g.swap(make(chan struct{}))
	case "/release":
		close(g.swap(nil))
	case "/waiting":
		fmt.Fprint(w, g.waiting.Load())
	default:
		g.waiting.Add(1)
		if open := g.swap(nil); open != nil {
			<-open
		}
		time.Sleep(latency)
		g.waiting.Add(-1)
		g.model.ServeHTTP(w, r)
	}
}

// swap returns the gate, and puts another in its place unless that is nil.
func (g *gate) swap(next chan struct{}) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	was := g.open
	if next != nil {
		g.open = next
	}
	return was
}

// serve starts the server's process and returns its address.
func serve(b *testing.B) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestInFlightServer$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), serving+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if url, ok := strings.CutPrefix(lines.Text(), "serving "); ok {
			return url
		}
	}
	b.Fatal("the server does not serve")
	return ""
}

// get asks the server's gate.
func get(b *testing.B, url string) string {
	res, err := http.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// BenchmarkInFlight has 10,000 sessions in flight in this process against a server in
// another one that answers after 50 ms, streamed: first all of them held at the server, for
// the memory that each takes beside its transcript; then as fast as they go. Over HTTP/1
// each has a connection of its own, over HTTP/2 some hundred share one, as with providers.
func BenchmarkInFlight(b *testing.B) {
	for _, version := range []int{1, 2} {
		b.Run(fmt.Sprintf("http%d", version), func(b *testing.B) { benchInFlight(b, version) })
	}
}

func benchInFlight(b *testing.B, version int) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil || version == 1 && files.Cur < inFlight+100 {
		b.Skipf("%d files may be open, and %d connections are needed (%v)", files.Cur, inFlight, err)
	}
	url := serve(b)
	agent, closeIdle := inFlightAgent(b, url, version)
	defer closeIdle()
	m := &flow.Map{Workflow: agent, Parallel: inFlight}
	heap, stack := heldMemory(b, m, url)
	inputs := questions(b.N)
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	b.ResetTimer()
	forwardAll(b, m, slices.Values(inputs))
	b.StopTimer()
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
	b.ReportMetric(float64(used)/1e3/float64(b.N), "cpu-us/run")
	b.ReportMetric(heap, "heap-B/session")
	b.ReportMetric(stack, "stack-B/session")
}

func inFlightAgent(b *testing.B, url string, version int) (*flow.Agent, func()) {
	client := llm.NewHTTPClient()
	transport := client.Transport.(*http.Transport)
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = inFlight, inFlight
	if version == 2 {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		transport.Protocols = protocols
	}
	model, err := openai.Open("m", &openai.Options{BaseURL: url + "/v1", APIKey: "k", HTTPClient: client})
	if err != nil {
		b.Fatal(err)
	}
	return &flow.Agent{Prompt: "You repeat what is said.", Model: &llm.Retry{Model: model}}, transport.CloseIdleConnections
}

func questions(n int) []session.Session {
	all := make([]session.Session, n)
	for i := range all {
		all[i] = session.FromUser(fmt.Sprintf("This is question number %d.", i))
	}
	return all
}

// forwardAll checks every answer.
func forwardAll(b *testing.B, m *flow.Map, in iter.Seq[session.Session]) {
	for out, err := range m.Run(context.Background(), in) {
		if err != nil || !strings.HasPrefix(out.Text(), "You said: This is question") {
			b.Fatal(out.Text(), err)
		}
	}
}

// heldMemory is what a session in flight takes, when all of them are held at the server.
func heldMemory(b *testing.B, m *flow.Map, url string) (heap, stack float64) {
	inputs := questions(inFlight) // their transcripts do not count
	get(b, url+"/hold")
	heapBefore, stackBefore := memory()
	done := make(chan struct{})
	go func() {
		defer close(done)
		forwardAll(b, m, slices.Values(inputs))
	}()
	for get(b, url+"/waiting") != fmt.Sprint(inFlight) {
		time.Sleep(50 * time.Millisecond)
	}
	heapHeld, stackHeld := memory()
	writeHeap(b, os.Getenv("RATH_BENCH_HEAP"))
	get(b, url+"/release")
	<-done
	runtime.KeepAlive(inputs)
	return float64(heapHeld-heapBefore) / inFlight, float64(stackHeld-stackBefore) / inFlight
}

// memory is what is in use of the heap after a collection, and of stacks.
func memory() (heap, stack int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

// writeHeap writes a profile of the heap while all sessions are held, to see what is in it.
func writeHeap(b *testing.B, file string) {
	if file == "" {
		return
	}
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	if err := errors.Join(pprof.WriteHeapProfile(f), f.Close()); err != nil {
		b.Fatal(err)
	}
}

//go:build unix

package mcptool

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// everyWay runs a test over each transport.
func everyWay(t *testing.T, fn func(t *testing.T, s Server)) {
	t.Parallel()
	for name, way := range map[string]func() Server{
		"memory": func() Server { return inMemory(newServer()) },
		"stdio":  func() Server { return helper(t, "plain") },
		"http":   func() Server { return overHTTP(t, newServer(), nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fn(t, way())
		})
	}
}

func TestCall(t *testing.T) {
	everyWay(t, func(t *testing.T, s Server) {
		c := connect(t, s, nil)
		if err := c.Tools().Check(); err != nil {
			t.Error(err)
		}
		expect(t, c, "echo", `{"text":"hi"}`, "hi")
		expect(t, c, "echo", `{}`, tool.KindInvalidArguments)
		expect(t, c, "progress", ``, "done")
	})
}

func TestClasses(t *testing.T) {
	t.Parallel()
	want := map[string]effect.Class{"fake__echo": effect.ReadOnly, "fake__put": effect.Idempotent, "fake__pid": effect.Mutating, "fake__elicit": effect.Mutating}
	c := connect(t, inMemory(newServer()), nil)
	blind := inMemory(newServer())
	blind.IgnoreHints = true
	d := connect(t, blind, nil)
	for name, class := range want {
		if got := c.Tools().Find(name).Class; got != class {
			t.Errorf("%s is %v", name, got)
		}
		if got := d.Tools().Find(name).Class; got != effect.Mutating {
			t.Errorf("without hints %s is %v", name, got)
		}
	}
}

func TestDescriptionsAreCleaned(t *testing.T) {
	t.Parallel()
	c := connect(t, inMemory(newServer()), nil)
	if got := c.Tools().Find("fake__echo").Description; got != "Say it [2Jagain." {
		t.Errorf("%q", got)
	}
	if got := c.Instructions(); got != "Be [31mgood." {
		t.Errorf("%q", got)
	}
}

func TestQuestions(t *testing.T) {
	everyWay(t, func(t *testing.T, s Server) {
		s.Timeout = time.Second // which stands still while somebody thinks
		var progress []Progress
		var mu sync.Mutex
		c := connect(t, s, &Options{
			Elicit: func(ctx context.Context, e Elicitation) (Answer, error) {
				time.Sleep(1300 * time.Millisecond)
				if e.Message != "Which [31mcolour?" || e.Tool != "elicit" || !strings.Contains(string(e.Schema), "colour") || tool.CallOf(ctx).ID != "1" {
					t.Errorf("%+v, in call %+v", e, tool.CallOf(ctx))
				}
				return Answer{Accept, map[string]any{"colour": "blue"}}, nil
			},
			Sample: func(ctx context.Context, req *llm.Request) (llm.Reply, error) {
				var text string
				for chunk := range req.All() {
					text += chunk.Kind().String() + ":" + chunk.Text() + " "
				}
				return llm.Reply{Chunk: session.Assistant([]session.Part{session.Text(text)}), Model: "m", Stop: llm.StopEnd}, nil
			},
			Progress: func(_ context.Context, p Progress) {
				mu.Lock()
				defer mu.Unlock()
				progress = append(progress, p)
			},
		})
		expect(t, c, "elicit", "{}", "accept blue")
		expect(t, c, "sample", "{}", "m says system:Be short. user:Why?")
		expect(t, c, "progress", "{}", "done")
		eventually(t, func() bool { // it may come after the result, and then is nobody's
			mu.Lock()
			defer mu.Unlock()
			return len(progress) > 0 && progress[0].Message == "step" && progress[0].Call.ID == "1" && progress[0].Total == 3
		})
	})
}

// Without the callbacks the server is told so.
func TestNobodyIsAsked(t *testing.T) {
	t.Parallel()
	c := connect(t, inMemory(newServer()), nil)
	expect(t, c, "elicit", "{}", KindRefused)
	expect(t, c, "sample", "{}", KindRefused)
	declines := connect(t, inMemory(newServer()), &Options{Elicit: func(context.Context, Elicitation) (Answer, error) { return Answer{}, nil }})
	expect(t, declines, "elicit", "{}", "cancel")
	fails := connect(t, inMemory(newServer()), &Options{Elicit: func(context.Context, Elicitation) (Answer, error) { return Answer{}, errors.New("no terminal") }})
	expect(t, fails, "elicit", "{}", "no terminal")
}

func TestTimeout(t *testing.T) {
	everyWay(t, func(t *testing.T, s Server) {
		s.Timeout = time.Second
		c := connect(t, s, nil)
		before := cancelled.Load()
		first := c.current()
		var wg sync.WaitGroup
		wg.Go(func() { expect(t, c, "sleep", `{"text":"10s"}`, tool.KindTimeout) })
		wg.Wait()
		expect(t, c, "echo", `{"text":"after"}`, "after")
		if c.current() != first {
			t.Error("the connection is another")
		}
		if s.Command == nil {
			eventually(t, func() bool { return cancelled.Load() > before })
		}
	})
}

func TestCancel(t *testing.T) {
	everyWay(t, func(t *testing.T, s Server) {
		c := connect(t, s, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, chunk := call(t, ctx, c, "sleep", `{"text":"10s"}`); chunk.Answer().Outcome != session.Interrupted {
			t.Errorf("%+v", chunk.Answer())
		}
		expect(t, c, "echo", `{"text":"after"}`, "after")
	})
}

func TestServerDies(t *testing.T) {
	t.Parallel()
	c := connect(t, helper(t, "plain"), nil)
	text, chunk := call(t, t.Context(), c, "die", `{"text":""}`)
	if !strings.Contains(text, KindLost) || !strings.Contains(text, "exit status 7") || !strings.Contains(text, "[31mout of luck") || strings.Contains(text, "\x1b") || chunk.Answer().Outcome != session.Failed {
		t.Error(text)
	}
	expect(t, c, "echo", `{"text":"after"}`, "after")
	pid, _ := strconv.Atoi(textOf(t, c, "pid", `{"text":""}`))
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // while nobody calls
		t.Fatal(err)
	}
	eventually(t, func() bool { return c.current() == nil })
	expect(t, c, "echo", `{"text":"again"}`, "again")
}

// A server that has hung is replaced when the next call comes.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	s := helper(t, "plain")
	s.Timeout = time.Second
	c := connect(t, s, nil)
	expect(t, c, "hang", `{"text":""}`, tool.KindTimeout)
	expect(t, c, "echo", `{"text":"after"}`, "after")
}

func TestOneProcess(t *testing.T) {
	t.Parallel()
	c := connect(t, helper(t, "plain"), nil)
	var mu sync.Mutex
	pids := map[string]int{}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				pid := textOf(t, c, "pid", `{"text":""}`)
				mu.Lock()
				pids[pid]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(pids) != 1 {
		t.Error(pids)
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	for how, want := range map[string][]string{
		"mute":   {"does not answer", "I do not talk"},
		"broken": {"exit status 3", "[31mcannot start: the key *** is wrong"},
	} {
		begin := time.Now()
		_, err := Connect(t.Context(), helper(t, how), &Options{ConnectTimeout: 500 * time.Millisecond})
		var e *Error
		if !errors.As(err, &e) || time.Since(begin) > 5*time.Second {
			t.Fatalf("%s: %v after %v", how, err, time.Since(begin))
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "sk-01") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%s: %v", how, err)
			}
		}
	}
	_, err := Connect(t.Context(), Server{Command: []string{"no-such-program"}}, nil)
	var e *Error
	if !errors.As(err, &e) || strings.Contains(err.Error(), "EOF") || !strings.Contains(err.Error(), "not found") || !strings.Contains(e.Hint(), "install") {
		t.Error(err)
	}
	_, err = Connect(t.Context(), Server{URL: "http://127.0.0.1:1/mcp"}, nil)
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), "start the server") {
		t.Error(err)
	}
	for _, s := range []Server{{}, {URL: "sk-0123456789"}, {URL: "http://h", Command: []string{"x"}}} {
		if _, err := Connect(t.Context(), s, nil); err == nil || strings.Contains(err.Error(), "sk-") {
			t.Error(err)
		}
	}
}

// What does not know the newest protocol's first question and says nothing is asked again.
func TestOldServer(t *testing.T) {
	t.Parallel()
	c := connect(t, helper(t, "old"), &Options{ConnectTimeout: 2 * time.Second})
	expect(t, c, "echo", `{"text":"hi"}`, "hi")
	if c.version != legacy {
		t.Error(c.version)
	}
}

func TestCloseEndsTheFamily(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"family", "stubborn"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			c := connect(t, helper(t, how), nil)
			pids := []string{textOf(t, c, "pid", `{"text":""}`)}
			if how == "family" {
				pids = append(pids, textOf(t, c, "getenv", `{"text":"CHILD"}`))
			}
			var wg sync.WaitGroup
			wg.Go(func() { expect(t, c, "sleep", `{"text":"100s"}`, KindLost) })
			eventually(t, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return len(c.running) == 1
			})
			c.Close()
			wg.Wait()
			for _, pid := range pids {
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Error(err)
				}
				eventually(t, func() bool { return !runs(n) }) // dying takes a moment
			}
			expect(t, c, "echo", `{"text":""}`, "the client is closed")
		})
	}
}

// runs reports whether a process runs; one that nobody has buried does not.
func runs(pid int) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return syscall.Kill(pid, 0) == nil && !errors.Is(err, os.ErrNotExist)
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func TestEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-mine")
	c := connect(t, helper(t, "plain"), nil)
	expect(t, c, "getenv", `{"text":"SECRET"}`, "***") // it has it, and gave it back
	expect(t, c, "getenv", `{"text":"PATH"}`, "/")
	if got := textOf(t, c, "getenv", `{"text":"OPENAI_API_KEY"}`); got != "" {
		t.Error("the server has the key", got)
	}
}

func TestListChanges(t *testing.T) {
	t.Parallel()
	everyWay := map[string]func(*mcp.Server) Server{
		"memory": inMemory,
		"http":   func(s *mcp.Server) Server { return overHTTP(t, s, nil) },
	}
	for name, way := range everyWay {
		t.Run(name, func(t *testing.T) {
			server := newServer()
			var told atomic.Int32
			c := connect(t, way(server), &Options{Changed: func(tools tool.Set) { told.Add(int32(len(tools))) }})
			n := len(c.Tools())
			raw(server, "fresh", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("fresh") })
			eventually(t, func() bool { return len(c.Tools()) == n+1 && told.Load() == int32(n+1) })
			expect(t, c, "fresh", "{}", "fresh")
			server.RemoveTools("fresh")
			eventually(t, func() bool { return len(c.Tools()) == n })
		})
	}
}

func textOf(t *testing.T, c *Client, name, arguments string) string {
	t.Helper()
	text, chunk := call(t, t.Context(), c, name, arguments)
	if chunk.Answer().Outcome != session.OK {
		t.Errorf("%s: %s", name, text)
	}
	return text
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

// A journal that knows the tools needs no server.
func TestReplay(t *testing.T) {
	t.Parallel()
	j := &journal{}
	ctx := effect.WithJournal(t.Context(), j)
	c, err := Connect(ctx, inMemory(newServer()), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	dead := Server{Name: "fake", Transport: func(context.Context) (mcp.Transport, error) { return nil, errors.New("it is gone") }}
	again, err := Connect(ctx, dead, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if len(again.Tools()) != len(c.Tools()) {
		t.Error(again.Tools())
	}
	expect(t, again, "echo", `{"text":"hi"}`, KindUnreachable)
}

// journal knows the last effect's outcome, and gives it for every other.
type journal struct{ last *effect.Outcome }

func (j *journal) Knows(string, effect.Call) bool                                   { return j.last != nil }
func (j *journal) Begin(context.Context, string, effect.Call) (effect.Entry, error) { return j, nil }

func (j *journal) Context(ctx context.Context) context.Context { return ctx }

func (j *journal) Recorded() (effect.Outcome, bool) {
	if j.last == nil {
		return effect.Outcome{}, false
	}
	return *j.last, true
}

func (j *journal) End(_ context.Context, o effect.Outcome) error {
	j.last = &o
	return nil
}

// BenchmarkCall is what a call costs beside the server's own work.
func BenchmarkCall(b *testing.B) {
	for name, s := range map[string]Server{
		"memory": inMemory(newServer()),
		"stdio":  {Name: "fake", Command: []string{os.Args[0]}, Env: map[string]string{helperEnv: "plain"}},
	} {
		b.Run(name, func(b *testing.B) {
			c, err := Connect(b.Context(), s, nil)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			echo := c.Tools().Find("fake__echo")
			for b.Loop() {
				if _, err := echo.Run(b.Context(), []byte(`{"text":"hi"}`)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

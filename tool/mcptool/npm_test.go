//go:build unix

package mcptool

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/internal/mcpserver/npmtest"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
)

// npm is a server of others, by its name and arguments.
func npm(t *testing.T, name string, args ...string) Server {
	t.Helper()
	program := filepath.Join(npmtest.Install(t, "servers"), "node_modules/@modelcontextprotocol/server-"+name+"/dist/index.js")
	return Server{Name: name, Command: append([]string{"node", program}, args...)}
}

// everything is the server of that name, over both transports.
func everything(t *testing.T, fn func(t *testing.T, s Server)) {
	t.Parallel()
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		fn(t, npm(t, "everything", "stdio"))
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		fn(t, serveHTTP(t, npm(t, "everything", "streamableHttp"), freePort(t)).Server)
	})
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

type served struct {
	Server
	cmd *exec.Cmd
}

func (s served) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// serveHTTP starts a server that listens.
func serveHTTP(t *testing.T, s Server, port string) served {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.Command[0], s.Command[1:]...)
	cmd.Env = append(os.Environ(), "PORT="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := served{Server{Name: s.Name, URL: "http://127.0.0.1:" + port + "/mcp"}, cmd}
	t.Cleanup(out.kill)
	eventually(t, func() bool {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return out
}

func TestEverything(t *testing.T) {
	everything(t, func(t *testing.T, s Server) {
		var mu sync.Mutex
		var progress []Progress
		c := connect(t, s, &Options{
			Resources: true, Prompts: true,
			Progress: func(_ context.Context, p Progress) { mu.Lock(); defer mu.Unlock(); progress = append(progress, p) },
			Elicit: func(context.Context, Elicitation) (Answer, error) {
				return Answer{Accept, map[string]any{"name": "Ada", "color": "red"}}, nil
			},
			Sample: func(_ context.Context, req *llm.Request) (llm.Reply, error) {
				return llm.Reply{Chunk: session.Assistant([]session.Part{session.Text("sampled")}), Model: "m", Stop: llm.StopEnd}, nil
			},
		})
		if err := c.Tools().Check(); err != nil || len(c.Tools()) < 15 || len(c.Problems()) > 0 {
			t.Error(err, len(c.Tools()), c.Problems())
		}
		eventually(t, func() bool { return c.Tools().Find("everything__trigger-sampling-request") != nil }) // it comes later
		expect(t, c, "echo", `{"message":"hi"}`, "Echo: hi")
		expect(t, c, "get-sum", `{"a":2,"b":3}`, "5")
		expect(t, c, "get-structured-content", `{"location":"Chicago"}`, `"temperature"`)
		expect(t, c, "get-resource-links", `{"count":2}`, "resource link: ")
		expect(t, c, "get-resource-reference", `{"resourceType":"Text","resourceId":1}`, "Resource 1")
		expect(t, c, "trigger-sampling-request", `{"prompt":"why","maxTokens":10}`, "sampled")
		expect(t, c, "trigger-elicitation-request", `{}`, "Ada")
		expect(t, c, "trigger-long-running-operation", `{"duration":0.5,"steps":5}`, "completed")
		expect(t, c, "list_resources", `{}`, "demo://")
		expect(t, c, "list_prompts", `{}`, "simple-prompt")
		_, chunk := call(t, t.Context(), c, "get-tiny-image", `{}`)
		images := 0
		for p := range chunk.Parts() {
			if p.Kind == session.PartImage && p.MIME == "image/png" {
				images++
			}
		}
		if images != 1 {
			t.Errorf("%d images", images)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(progress) < 3 || progress[0].Total != 5 {
			t.Errorf("%+v", progress)
		}
	})
}

func TestEverythingTimesOut(t *testing.T) {
	everything(t, func(t *testing.T, s Server) {
		s.Timeout = time.Second
		c := connect(t, s, nil)
		first := c.current()
		expect(t, c, "trigger-long-running-operation", `{"duration":60,"steps":1}`, "tool_timeout")
		expect(t, c, "echo", `{"message":"after"}`, "Echo: after")
		if c.current() != first {
			t.Error("the connection is another")
		}
	})
}

// A server that is killed in mid-call fails that call; the next one works. A hundred calls
// take one process.
func TestKill(t *testing.T) {
	t.Parallel()
	c := connect(t, npm(t, "everything", "stdio"), nil)
	var wg sync.WaitGroup
	wg.Go(func() { expect(t, c, "trigger-long-running-operation", `{"duration":60,"steps":1}`, KindLost) })
	time.Sleep(200 * time.Millisecond)
	pid := c.current().process.group.Load().Process.Pid
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	seen := map[int]bool{}
	for range 100 {
		expect(t, c, "echo", `{"message":"after"}`, "Echo: after")
		seen[c.current().process.group.Load().Process.Pid] = true
	}
	if len(seen) != 1 || seen[pid] {
		t.Error(pid, seen)
	}
	for n := range seen {
		if children := childrenOf(n); children != 1 {
			t.Errorf("%d processes of the group", children)
		}
	}
}

// childrenOf counts the processes of a group.
func childrenOf(group int) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		data, _ := os.ReadFile(file)
		_, rest, _ := strings.Cut(string(data), ") ")
		if f := strings.Fields(rest); len(f) > 2 && f[2] == strconv.Itoa(group) {
			n++
		}
	}
	return n
}

func TestKillHTTP(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	program := npm(t, "everything", "streamableHttp")
	s := serveHTTP(t, program, port)
	c := connect(t, s.Server, nil)
	var wg sync.WaitGroup
	wg.Go(func() { expect(t, c, "trigger-long-running-operation", `{"duration":60,"steps":1}`, KindLost) })
	time.Sleep(300 * time.Millisecond)
	s.kill()
	wg.Wait()
	_ = serveHTTP(t, program, port)
	expect(t, c, "echo", `{"message":"after"}`, "Echo: after")
}

// The servers run at every level of the sandbox, with its rights.
func TestInSandbox(t *testing.T) {
	t.Parallel()
	files, dir := npm(t, "filesystem", "."), npmtest.Install(t, "servers")
	for _, level := range []string{sandbox.LevelHost, sandbox.LevelLandlock, sandbox.LevelBubblewrap} {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			work := t.TempDir()
			policy := sandbox.Policy{Level: level, ReadOnly: []string{dir}}
			if level == sandbox.LevelHost {
				policy.ReadOnly = nil // it has all files
			}
			sb, err := local.Open(t.Context(), work, &local.Options{Policy: policy})
			if err != nil {
				t.Skip(err)
			}
			t.Cleanup(func() { sb.Close() })
			c := connect(t, files, &Options{Sandbox: sb})
			expect(t, c, "write_file", `{"path":"a.txt","content":"from the server"}`, "Successfully")
			if data, err := sb.ReadFile(t.Context(), "a.txt"); string(data) != "from the server" {
				t.Error(string(data), err)
			}
			expect(t, c, "read_text_file", `{"path":"a.txt"}`, "from the server")
			expect(t, c, "read_text_file", `{"path":"/etc/passwd"}`, "denied")
			if err := sb.Close(); err != nil {
				t.Error(err)
			}
			expect(t, c, "read_text_file", `{"path":"a.txt"}`, "closed")
		})
	}
}

func TestMemoryServer(t *testing.T) {
	t.Parallel()
	s := npm(t, "memory")
	s.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	c := connect(t, s, nil)
	expect(t, c, "create_entities", `{"entities":[{"name":"Ada","entityType":"person","observations":["likes engines"]}]}`, "Ada")
	expect(t, c, "search_nodes", `{"query":"engines"}`, "likes engines")
	if got := c.Tools().Find("memory__delete_entities").Class; got != effect.Idempotent {
		t.Error(got)
	}
	if got := c.Tools().Find("memory__read_graph").Class; got != effect.ReadOnly {
		t.Error(got)
	}
}

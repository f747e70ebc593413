package cli_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/internal/mcpserver/npmtest"
	"github.com/openrath-go/rath/internal/telemetry"
)

// called calls a tool and reads its result as JSON.
func called(t *testing.T, c *mcp.ClientSession, name string, in, out any) string {
	t.Helper()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if res.IsError {
		return "error: " + text
	}
	if out != nil {
		data, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(data, out)
		}
		if err != nil {
			t.Fatalf("%s: %v in %s", name, err, data)
		}
	}
	return text
}

// dial makes a client.
func dial(t *testing.T, over mcp.Transport) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// The official client drives the command over its standard streams.
func TestServe(t *testing.T) {
	t.Parallel()
	home := filled(t)
	c := dial(t, &mcp.CommandTransport{Command: rath(t, home, "mcp", "serve", "--allow-run", "--allow-write", "--sandbox", "none", "--model", "offline:")})

	var listed struct{ Sessions []struct{ ID, Text string } }
	called(t, c, "list_sessions", map[string]any{}, &listed)
	if len(listed.Sessions) != 1 {
		t.Fatalf("%+v", listed)
	}
	id := listed.Sessions[0].ID
	var shown struct {
		ID     string
		Chunks []json.RawMessage
	}
	called(t, c, "show_session", map[string]any{"id": "@"}, &shown)
	if shown.ID != id || len(shown.Chunks) != 2 {
		t.Errorf("%+v", shown)
	}
	var replayed struct{ Verdict string }
	if called(t, c, "replay_run", map[string]any{"id": id}, &replayed); replayed.Verdict != "the same" {
		t.Error(replayed)
	}
	var branch struct{ ID string }
	called(t, c, "fork_session", map[string]any{"id": id + "@1"}, &branch)
	var diff struct {
		Common int
		OnlyA  []json.RawMessage `json:"only_a"`
		OnlyB  []json.RawMessage `json:"only_b"`
	}
	if called(t, c, "diff_sessions", map[string]any{"a": id, "b": branch.ID}, &diff); diff.Common != 1 || len(diff.OnlyA) != 1 || len(diff.OnlyB) != 0 {
		t.Errorf("%+v", diff)
	}
	if got := called(t, c, "show_session", map[string]any{"id": "ffff"}, nil); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, "no such session") {
		t.Error(got)
	}
}

// Runs go as far as the flags let them.
func TestServeRuns(t *testing.T) {
	t.Parallel()
	home := filled(t)
	c := dial(t, &mcp.CommandTransport{Command: rath(t, home, "mcp", "serve", "--allow-run", "--sandbox", "none", "--model", "offline:")})
	var ran struct{ Session, Text, State string }
	if got := called(t, c, "run", map[string]any{"prompt": "hello"}, &ran); got != ran.Text || ran.State != "succeeded" {
		t.Errorf("%s %+v", got, ran)
	}
	var more struct{ Session string }
	called(t, c, "run", map[string]any{"prompt": "and more", "session": ran.Session}, &more)
	var shown struct{ Chunks []json.RawMessage }
	if called(t, c, "show_session", map[string]any{"id": more.Session}, &shown); len(shown.Chunks) != 4 {
		t.Errorf("%d chunks", len(shown.Chunks))
	}
	for _, in := range []map[string]any{
		{"prompt": "hello", "model": "openai:other"}, {"prompt": "hello", "tools": []string{"bash"}}, {"prompt": "hello", "session": "ffff"}, {"prompt": "-"},
	} {
		if got := called(t, c, "run", in, nil); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%v: %s", in, got)
		}
	}
}

// Workflows are tools with the names of their files, and are run as the flags let them.
func TestServeFlows(t *testing.T) {
	t.Parallel()
	home := filled(t)
	cmd := rath(t, home, "mcp", "serve", "-f", "review.yaml", "--model", "scripted:replies.json", "--isolation", "host")
	for name, text := range map[string]string{
		"review.yaml":  "description: Write and review.\nentry: both\nagents: {writer: {}, reviewer: {}}\nworkflows: {both: {sequence: [writer, reviewer]}}\n",
		"replies.json": `{"replies":[{"text":"a draft"},{"calls":[{"name":"write_workspace_file","arguments":{"path":"x.txt","content":"x"}}]},{"text":"reviewed"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(cmd.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, &mcp.CommandTransport{Command: cmd})
	var ran struct{ Session, Text, State string }
	if got := called(t, c, "run_review", map[string]any{"prompt": "Write"}, &ran); got != "reviewed" || ran.State != "succeeded" {
		t.Errorf("%s %+v", got, ran)
	}
	if _, err := os.Stat(filepath.Join(cmd.Dir, "x.txt")); err == nil {
		t.Error("without --yes a file was written")
	}
	before := ran.Session
	called(t, c, "run_review", map[string]any{"prompt": "Go on", "session": before}, &ran)
	var diff struct {
		Common int
		OnlyA  []json.RawMessage `json:"only_a"`
	}
	if called(t, c, "diff_sessions", map[string]any{"a": before, "b": ran.Session}, &diff); diff.Common != 5 || len(diff.OnlyA) != 0 {
		t.Errorf("%+v", diff)
	}
	var replayed struct{ Verdict string }
	if called(t, c, "replay_run", map[string]any{"id": ran.Session}, &replayed); replayed.Verdict != "the same" {
		t.Error(replayed)
	}
	for _, in := range []map[string]any{{"prompt": "-"}, {"prompt": "x", "session": "ffff"}} {
		if got := called(t, c, "run_review", in, nil); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%v: %s", in, got)
		}
	}
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "rath://flow/review"})
	if err != nil || !strings.HasPrefix(res.Contents[0].Text, "description: Write") {
		t.Error(res, err)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "hello"}}); err == nil {
		t.Error("a run that nobody has allowed")
	}
}

// Notes are found, kept and read, also as resources, and sessions too.
func TestServeResources(t *testing.T) {
	t.Parallel()
	home := filled(t)
	c := dial(t, &mcp.CommandTransport{Command: rath(t, home, "mcp", "serve", "--allow-write")})
	var kept, note struct{ URI, Text, Trust string }
	called(t, c, "remember", map[string]any{"text": "The office is in Porto"}, &kept)
	if called(t, c, "show_note", map[string]any{"uri": kept.URI}, &note); note.Text != "The office is in Porto" || note.Trust != "agent" {
		t.Errorf("%+v", note)
	}
	var found struct{ Hits []struct{ URI string } }
	if called(t, c, "recall", map[string]any{"query": "office"}, &found); len(found.Hits) == 0 || found.Hits[0].URI != kept.URI {
		t.Errorf("%+v", found)
	}
	seen := map[string]int{}
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		scheme, _, _ := strings.Cut(r.URI, ":")
		seen[scheme]++
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI})
		if err != nil || !json.Valid([]byte(res.Contents[0].Text)) {
			t.Error(r.URI, err)
		}
	}
	if seen["rath"] != 1 || seen["memory"] != 2 {
		t.Error(seen)
	}
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "hello"}}); err == nil {
		t.Error("a run that nobody has allowed")
	}
}

// serving starts a server over HTTP and returns its address.
func serving(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "serving at ")
	if !ok {
		t.Fatal(line, err)
	}
	return url
}

type bearer struct{ token string }

func (b bearer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(req)
}

func TestServeHTTP(t *testing.T) {
	t.Parallel()
	home := filled(t)
	cmd := rath(t, home, "mcp", "serve", "--http", ":0")
	url := serving(t, cmd)
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Error(url)
	}
	c := dial(t, &mcp.StreamableClientTransport{Endpoint: url})
	var found struct{ Hits []struct{ URI string } }
	if called(t, c, "recall", map[string]any{"query": "deploy"}, &found); len(found.Hits) != 1 {
		t.Errorf("%+v", found)
	}

	cmd = rath(t, home, "mcp", "serve", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RATH_MCP_TOKEN=secret")
	url = serving(t, cmd)
	if _, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil); err == nil {
		t.Error("without a token")
	}
	c = dial(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer{"secret"}}})
	if got := called(t, c, "list_sessions", map[string]any{}, nil); !strings.Contains(got, `"sessions":[{`) {
		t.Error(got)
	}
}

// A run uses a server behind HTTP whose token stands in the configuration.
func TestRunOverHTTP(t *testing.T) {
	t.Parallel()
	server := rath(t, filled(t), "mcp", "serve", "--http", "127.0.0.1:0")
	server.Env = append(server.Env, "RATH_MCP_TOKEN=sk-0123456789")
	url := serving(t, server)
	home := filepath.Join(t.TempDir(), "home")
	script := filepath.Join(t.TempDir(), "replies.json")
	if err := os.WriteFile(script, []byte(`{"replies":[{"calls":[{"name":"far__recall","arguments":{"query":"deploy"}}]},{"text":"On Tuesday."}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--sandbox", "none", "--model", "scripted:" + script, "When do we deploy?"}
	cmd := rath(t, home, append(run, "--mcp", "far="+url)...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "bearer_token") {
		t.Errorf("without the token: %v\n%s", err, out)
	}
	done(t, home, "config", "set", "mcp.servers.far.url", url)
	done(t, home, "config", "set", "mcp.servers.far.bearer_token", "sk-0123456789")
	if got := done(t, home, append(run, "--mcp", "far")...); got != "On Tuesday." {
		t.Error(got)
	}
	if got := done(t, home, "show", "@"); !strings.Contains(got, "The deploy day is Tuesday") {
		t.Error(got)
	}
	if got := done(t, home, "runs", "show", "--json", "@"); strings.Contains(got, "sk-0123456789") {
		t.Error("the token is on record")
	}
}

// The official inspector lists and calls the tools.
func TestInspector(t *testing.T) {
	t.Parallel()
	program := filepath.Join(npmtest.Install(t, "inspector"), "node_modules/@modelcontextprotocol/inspector/cli/build/cli.js")
	server := rath(t, filled(t), "mcp", "serve")
	inspect := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "node", append([]string{program, "--cli", server.Path, "mcp", "serve"}, args...)...)
		cmd.Env, cmd.Dir = server.Env, server.Dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	if out := inspect("--method", "tools/list"); !strings.Contains(out, `"replay_run"`) || strings.Contains(out, `"run"`) {
		t.Error(out)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "replay_run", "--tool-arg", "id=@"); !strings.Contains(out, "the same") {
		t.Error(out)
	}
	if out := inspect("--method", "resources/list"); !strings.Contains(out, "rath://session/") {
		t.Error(out)
	}
}

// slowly serves runs that take their time, over HTTP, and has one begun.
func slowly(t *testing.T, home string) (cmd *exec.Cmd, called chan string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "replies.json")
	if err := os.WriteFile(script, []byte(`{"replies":[{"text":"done","delay_ms":20000}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd = rath(t, home, "mcp", "serve", "--http", "127.0.0.1:0", "--allow-run", "--sandbox", "none", "--model", "scripted:"+script)
	c := dial(t, &mcp.StreamableClientTransport{Endpoint: serving(t, cmd)})
	called = make(chan string, 1)
	go func() {
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "run", Arguments: map[string]any{"prompt": "hello"}})
		if err != nil {
			called <- "nothing: " + err.Error()
			return
		}
		called <- res.Content[0].(*mcp.TextContent).Text
	}()
	for range 100 {
		if strings.Contains(done(t, home, "runs", "ls"), "running") {
			return cmd, called
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the run does not begin")
	return nil, nil
}

// A server that is told to end ends its runs, and says so to their clients.
func TestServeInterrupted(t *testing.T) {
	t.Parallel()
	home := filled(t)
	cmd, called := slowly(t, home)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case got := <-called:
		if strings.HasPrefix(got, "nothing: ") {
			t.Error(got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the client hears nothing")
	}
	if got := done(t, home, "runs", "ls"); strings.Contains(got, "running") {
		t.Error(got)
	}
}

// What is told of a call over HTTP has no secrets, and lies where the command was started.
func TestServeTelemetry(t *testing.T) {
	t.Parallel()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	c := newCollector(t)
	home := filled(t)
	cmd := rath(t, home, "mcp", "serve", "--http", "127.0.0.1:0", "--allow-run", "--sandbox", "none", "--model", "offline:")
	cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+c.URL+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=10",
		telemetry.CaptureEnv+"=true", "TRACEPARENT=00-"+trace+"-b7ad6b7169203331-01")
	called(t, dial(t, &mcp.StreamableClientTransport{Endpoint: serving(t, cmd)}), "run", map[string]any{"prompt": "password: sesame-opens-4711"}, nil)
	for range 100 {
		if len(c.names()) >= 3 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := fmt.Sprintf("%x", c.span(t, "invoke_workflow rath run").TraceId); got != trace {
		t.Errorf("the run is in trace %s", got)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if strings.Contains(span.String(), "sesame-opens") {
			t.Errorf("%s has the secret", span.Name)
		}
	}
}

// A token has no blanks around it, and is more than blanks.
func TestServeToken(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "home")
	cmd := rath(t, home, "mcp", "serve", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RATH_MCP_TOKEN= secret\n")
	c := dial(t, &mcp.StreamableClientTransport{Endpoint: serving(t, cmd), HTTPClient: &http.Client{Transport: bearer{"secret"}}})
	called(t, c, "list_sessions", map[string]any{}, nil)
	cmd = rath(t, home, "mcp", "serve", "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "RATH_MCP_TOKEN= ")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "nothing but blanks") {
		t.Errorf("%v %s", err, out)
	}
}

// Package examples_test runs every rung of the ladder as its reader would: as a program, with
// and without a key.
package examples_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/openrath-go/rath/internal/cli"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// asRath has this program be the command.
const asRath = "EXAMPLES_BE_RATH"

func TestMain(m *testing.M) {
	if os.Getenv(asRath) != "" {
		os.Exit(cli.Main(os.Args[1:]))
	}
	m.Run()
}

var rung = regexp.MustCompile(`^\d\d_`)

// rungs are the folders of the ladder, so that none can be forgotten here.
func rungs(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && rung.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) < 15 {
		t.Fatalf("only %q were found", names)
	}
	return names
}

func TestLadder(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds all examples")
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "./...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // links faster
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range rungs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := command(t, bin, self, name)
			t.Run("without a key", func(t *testing.T) { withoutKey(t, args) })
			t.Run("openai", func(t *testing.T) { live(t, args, "OPENAI", "gpt-test") })
			t.Run("anthropic", func(t *testing.T) { live(t, args, "ANTHROPIC", "claude-test") })
		})
	}
}

var model = regexp.MustCompile(`(?m)^ *model: .*\n`)

// command is what runs a rung live: its program, or the command with its flow file, from which
// the models are taken out as the file says.
func command(t *testing.T, bin, self, name string) []string {
	t.Helper()
	flow, err := os.ReadFile(filepath.Join(name, "flow.yaml"))
	if errors.Is(err, os.ErrNotExist) {
		return []string{filepath.Join(bin, name), "-live"}
	}
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := errors.Join(err, os.WriteFile(file, model.ReplaceAll(flow, nil), 0o600)); err != nil {
		t.Fatal(err)
	}
	return []string{self, "run", "-f", file, "Why is the sky blue?"}
}

// start runs a program with nothing but some variables, and sees to it that the program leaves
// nothing behind in the working directory, nor among temporary files.
func start(t *testing.T, args []string, env ...string) (string, error) {
	t.Helper()
	work, tmp, home := t.TempDir(), t.TempDir(), t.TempDir()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = work
	cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+home, "OPENRATH_HOME="+home, asRath+"=1", "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	for _, dir := range []string{work, tmp} {
		left, readErr := os.ReadDir(dir)
		if readErr != nil || len(left) > 0 {
			t.Errorf("it leaves behind %v, %v", left, readErr)
		}
	}
	return string(out), err
}

// Without a key a rung runs, and with -live it says what it needs.
func withoutKey(t *testing.T, args []string) {
	if args[len(args)-1] != "-live" {
		return // a flow file has an example of its own
	}
	if out, err := start(t, args[:1]); err != nil || out == "" {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := start(t, args); err == nil || !strings.Contains(out, "-live needs a model: set OPENAI_API_KEY or ANTHROPIC_API_KEY") {
		t.Errorf("with -live: %v\n%s", err, out)
	}
}

// live runs a rung against a server of one vendor, which must be asked, by the model's name and
// for a stream.
func live(t *testing.T, args []string, vendor, model string) {
	var mu sync.Mutex
	var got []*llmtest.Request
	server := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, req)
		return reply(req)
	})
	out, err := start(t, args, vendor+"_API_KEY=sk-test", vendor+"_BASE_URL="+server.URL, vendor+"_DEFAULT_MODEL="+model)
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) == 0 {
		t.Errorf("nobody has asked the server:\n%s", out)
	}
	for _, req := range got {
		if req.Model != model || !req.Stream || req.Anthropic != (vendor == "ANTHROPIC") {
			t.Errorf("it asks for %s, model %q, stream %v", req.Path, req.Model, req.Stream)
		}
	}
}

var order = regexp.MustCompile(`(?s)^Write exactly this to (\S+) .*?:\n(.*)$`)

// reply is what a model could say: it chooses that all is done, finds no facts, does the one
// thing that the ladder asks for in so many words, and has nothing else to say.
func reply(req *llmtest.Request) scripted.Reply {
	var body any
	if err := json.Unmarshal(req.Body, &body); err != nil {
		return scripted.Reply{Text: err.Error()}
	}
	last := req.Messages[len(req.Messages)-1]
	switch text := string(req.Body); {
	case strings.Contains(text, `"choice"`):
		return scripted.Reply{Text: `{"reason":"All is done.","choice":"done"}`}
	case strings.Contains(text, `"facts"`):
		return scripted.Reply{Text: `{"facts":[]}`}
	case len(last.Results) == 0:
		if m := find(body); m != nil {
			args, _ := json.Marshal(map[string]string{"path": m[1], "content": m[2]}) // texts: they always encode
			return scripted.Reply{Calls: []session.Call{scripted.Call("write_workspace_file", string(args))}}
		}
	}
	return scripted.Reply{Text: "FINAL It is so."}
}

// find looks for the order in all texts of a request.
func find(v any) []string {
	switch v := v.(type) {
	case string:
		return order.FindStringSubmatch(v)
	case []any:
		for _, x := range v {
			if m := find(x); m != nil {
				return m
			}
		}
	case map[string]any:
		for _, x := range v {
			if m := find(x); m != nil {
				return m
			}
		}
	}
	return nil
}

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
	if len(names) < 16 {
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
			t.Run("openai", func(t *testing.T) { live(t, name, args, "OPENAI", "gpt-test") })
			t.Run("anthropic", func(t *testing.T) { live(t, name, args, "ANTHROPIC", "claude-test") })
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

// shows is what a rung says when a real model calls its tools.
var shows = map[string]string{
	"01_hello":         "FINAL It is so.\n2 chunks",
	"03_sandbox":       "local: FINAL It is so. {\"data\":\"local\"}\nlocal: FINAL It is so. {\"ok\":false",
	"04_builtin_tools": `FINAL It is so. {"bytes_written":10}`,
	"05_custom_tool":   `ok {"minutes":12,"mode":"bike"}`,
	"06_mcp":           `ok {"celsius":24,"sky":"clear"}`,
	"07_streaming":     `[shout {"text":"hi"}][HI]`,
	"08_compress":      "FINAL It is so. It was a dark and stormy night.",
	"10_providers":     "in the end: FINAL It is so.",
	"11_selector":      "done: All is done.",
	"12_durable": "posting letter 1\nposting letter 2\nthe program is gone: exit status 1\ngoing on with the run\n" +
		"posting letter 3\nposting letter 4\nposting letter 5\nFINAL It is so. posted\n",
	"13_replay":             "the dice roll\nlive:   FINAL It is so. 4\nreplay: FINAL It is so. 4 true\n",
	"14_workspace_branches": "resolved, merged:\nGreen tea  4\nCoffee     3\n",
	"15_flow_file":          "FINAL It is so.",
	"16_workflow":           "FINAL It is so. 3 calls of the model",
}

// live runs a rung against a server of one vendor, which must be asked, by the model's name and
// for a stream.
func live(t *testing.T, name string, args []string, vendor, model string) {
	var mu sync.Mutex
	var got []*llmtest.Request
	server := llmtest.NewFuncServer(t, func(req *llmtest.Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, req)
		return reply(req)
	})
	out, err := start(t, args, vendor+"_API_KEY=sk-test", vendor+"_BASE_URL="+server.URL, vendor+"_DEFAULT_MODEL="+model)
	if err != nil || !strings.Contains(out, shows[name]) {
		t.Errorf("%v: it does not say %q:\n%s", err, shows[name], out)
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

// calls are those that a model makes of a tool of the ladder, one after the other.
var calls = map[string][]string{
	"plan_route":        {`{"from":"home","to":"work","mode":"bike"}`},
	"weather__forecast": {`{"city":"Lisbon"}`},
	"shout":             {`{"text":"hi"}`},
	"turn_page":         {`{}`},
	"post":              {`{"number":1}`, `{"number":2}`, `{"number":3}`, `{"number":4}`, `{"number":5}`},
	"throw":             {`{}`},
	"word_count":        {`{"text":"one two three"}`},
}

// orders are what the ladder has done to files, in so many words.
var orders = []struct {
	words *regexp.Regexp
	tool  string
}{
	{regexp.MustCompile(`(?s)^Write exactly this to (?P<path>\S+) .*?:\n(?P<content>.*)$`), "write_workspace_file"},
	{regexp.MustCompile(`^Write "(?P<content>.*)" to (?P<path>[\w.]+)`), "write_workspace_file"},
	{regexp.MustCompile(`^Read (?P<path>\S+)$`), "read_workspace_file"},
}

// reply is what a model could say: it chooses that all is done, finds no facts, makes the calls
// above, and tells in the end what the last one gave.
func reply(req *llmtest.Request) scripted.Reply {
	switch text := string(req.Body); {
	case strings.Contains(text, `"choice"`):
		return scripted.Reply{Text: `{"reason":"All is done.","choice":"done"}`}
	case strings.Contains(text, `"facts"`):
		return scripted.Reply{Text: `{"facts":[]}`}
	}
	made, last, asked := turn(req)
	for _, name := range req.Tools {
		if made < len(calls[name]) {
			return scripted.Reply{Calls: []session.Call{scripted.Call(name, calls[name][made])}}
		}
	}
	for _, order := range orders {
		if m := order.words.FindStringSubmatch(asked); m != nil && made == 0 {
			args := map[string]string{}
			for i, name := range order.words.SubexpNames()[1:] {
				args[name] = m[i+1]
			}
			text, _ := json.Marshal(args) // texts: they always encode
			return scripted.Reply{Calls: []session.Call{scripted.Call(order.tool, string(text))}}
		}
	}
	return scripted.Reply{Text: strings.TrimSpace("FINAL It is so. " + last)}
}

// turn is how many calls were answered since the last message of the user, what the last gave,
// and what is asked: by that message, or by the agent's prompt if it is an order.
func turn(req *llmtest.Request) (made int, last, asked string) {
	results, prompt := anthropic(req)
	for i, m := range req.Messages {
		switch {
		case len(m.Results) > 0:
			made, last = made+len(m.Results), m.Text+results[i]
		case m.Role == "user":
			made, last, asked = 0, "", m.Text
		case m.Role == "system":
			prompt = m.Text
		}
	}
	if strings.HasPrefix(prompt, "Write exactly") {
		asked = prompt
	}
	return made, last, asked
}

// anthropic is what that protocol keeps in other places: the first result of each message, and
// the prompt.
func anthropic(req *llmtest.Request) (results []string, prompt string) {
	type block struct {
		Text    string
		Content []struct{ Text string }
	}
	var body struct {
		System   []block
		Messages []struct{ Content []block }
	}
	_ = json.Unmarshal(req.Body, &body) // the other protocol has texts where this one has blocks
	results = make([]string, len(req.Messages))
	for i, m := range body.Messages {
		if len(m.Content) > 0 && len(m.Content[0].Content) > 0 {
			results[i] = m.Content[0].Content[0].Text
		}
	}
	if len(body.System) > 0 {
		prompt = body.System[0].Text
	}
	return results, prompt
}

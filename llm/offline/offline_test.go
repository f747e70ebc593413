package offline_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

var tools = []llm.Tool{
	{Name: "read_workspace_file", Schema: schema("path")},
	{Name: "write_workspace_file", Schema: schema("path", "content")},
	{Name: "list_workspace_files", Schema: schema("path")},
	{Name: "find_workspace_files", Schema: schema("glob", "path")},
	{Name: "search_workspace", Schema: schema("pattern", "path")},
	{Name: "run_shell_command", Schema: schema("cmd")},
	{Name: "word_count", Description: "Count the words of a text.", Schema: schema("text")},
}

func schema(names ...string) json.RawMessage {
	props := map[string]any{}
	for _, n := range names {
		props[n] = map[string]any{"type": "string"}
	}
	data, _ := json.Marshal(map[string]any{"type": "object", "properties": props, "required": names})
	return data
}

// world answers calls as the built-in tools would.
type world map[string]string

func (w world) do(c session.Call) (string, session.Outcome) {
	var in struct{ Path, Content, Glob, Pattern, Cmd, Text string }
	if err := json.Unmarshal([]byte(c.Arguments), &in); err != nil {
		return err.Error(), session.Failed
	}
	out := func(v any) (string, session.Outcome) {
		data, _ := json.Marshal(v)
		return string(data), session.OK
	}
	switch c.Name {
	case "read_workspace_file":
		text, ok := w[in.Path]
		if !ok {
			return `{"ok":false,"error_kind":"path_not_found","message":"read ` + in.Path + `: file does not exist"}`, session.Failed
		}
		var page struct{ Offset int }
		json.Unmarshal([]byte(c.Arguments), &page)
		rest := text[page.Offset:]
		if len(rest) > 10 { // pages of ten bytes
			return out(map[string]any{"data": rest[:10], "truncated": true, "next_offset": page.Offset + 10})
		}
		return out(map[string]any{"data": rest})
	case "write_workspace_file":
		w[in.Path] = in.Content
		return out(map[string]any{"bytes_written": len(in.Content)})
	case "list_workspace_files":
		return out(map[string]any{"entries": []any{map[string]any{"name": "a", "is_dir": true}, map[string]any{"name": "b"}}})
	case "find_workspace_files":
		return out(map[string]any{"paths": []string{in.Path + "/" + in.Glob}})
	case "search_workspace":
		return out(map[string]any{"matches": []any{map[string]any{"path": "p", "line": 3, "text": in.Pattern}}})
	case "run_shell_command":
		return out(map[string]any{"exit_code": 1, "stdout": in.Cmd + "\n"})
	case "word_count":
		return fmt.Sprint(len(strings.Fields(in.Text))), session.OK
	}
	return "no such tool", session.Failed
}

// ask runs the whole loop and returns the answer.
func ask(t testing.TB, w world, tools []llm.Tool, request string) (answer string, calls int) {
	t.Helper()
	m := offline.New()
	content := session.Transcript{}.Append(session.User(session.Text(request)))
	for range 300 {
		reply, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: content, Tools: tools}))
		if err != nil {
			t.Fatalf("%q: %v", request, err)
		}
		content = content.Append(reply.Chunk)
		if reply.Chunk.NumCalls() == 0 {
			return reply.Chunk.Text(), calls
		}
		for c := range reply.Chunk.Calls() {
			calls++
			text, outcome := w.do(c)
			content = content.Append(session.ToolResult(session.Answer{CallID: c.ID, Tool: c.Name, Outcome: outcome}, session.Text(text)))
		}
	}
	t.Fatalf("%q: no end", request)
	return "", 0
}

func TestRequests(t *testing.T) {
	words := "one two three\nfour fivesixseven eight "
	for _, test := range []struct{ request, want string }{
		{"Count the words in a.txt", "a.txt has 6 words."},
		{"how many lines are there in a.txt?", "a.txt has 1 line."},
		{"How many characters does the file a.txt have?", "a.txt has 38 characters."},
		{"count the words in a.txt and b.txt", "a.txt has 6 words.\nb.txt has 1 word."},
		{`Count the words in "my file.txt"`, "my file.txt has 2 words."},
		{`how often does "s" occur in b.txt`, `"s" occurs 3 times in b.txt.`},
		{"Read b.txt", "session"},
		{"show me the contents of b.txt, then count the bytes in b.txt", "session\nb.txt has 7 bytes."},
		{"read missing.txt", "That did not work: read missing.txt: file does not exist"},
		{"List the files", ". holds 2 entries:\na/\nb"},
		{"list files in src", "src holds 2 entries:\na/\nb"},
		{"find *.go", "1 match of *.go in .:\n./*.go"},
		{"Find all files matching *.go in cmd", "1 match of *.go in cmd:\ncmd/*.go"},
		{`search for "a.b" in src`, "\"a.b\" is on 1 line:\np:3: a\\.b"},
		{`Write "hello there" to new.txt`, "I wrote 11 bytes to new.txt."},
		{`Write "hello there" to new.txt and then read it`, "I wrote 11 bytes to new.txt.\nhello there"},
		{"Create a file x.txt with content 'abc', then read it back.", "I wrote 3 bytes to x.txt.\nabc"},
		{"run `make test`", "make test\nThe command ended with exit code 1."},
		{"Compute 2 + 3*4", "2 + 3*4 = 14"},
		{"what is (1+2)/4?", "(1+2)/4 = 0.75"},
		{"compute 2/0", "I could not work out 2/0: it divides by zero."},
		{"Count the words in: OpenRath makes agent clusters traceable.", "word_count says: 5"},
	} {
		w := world{"a.txt": words, "b.txt": "session", "my file.txt": "my file"}
		if got, _ := ask(t, w, tools, test.request); got != test.want {
			t.Errorf("%q:\n got %q\nwant %q", test.request, got, test.want)
		}
	}
}

func TestIsHonest(t *testing.T) {
	got, calls := ask(t, world{}, tools, "Write me a poem about autumn")
	if calls != 0 || !strings.Contains(got, "not a language model") || !strings.Contains(got, "a poem about autumn") {
		t.Errorf("%d calls, %q", calls, got)
	}
	got, calls = ask(t, world{}, nil, "read a.txt")
	if calls != 0 || !strings.Contains(got, "read_workspace_file") {
		t.Errorf("%d calls, %q", calls, got)
	}
}

func TestParallelCalls(t *testing.T) {
	m := offline.New()
	content := session.Transcript{}.Append(session.User(session.Text("count the words in a.txt, b.txt and c.txt")))
	reply, err := llm.Collect(m.Stream(t.Context(), &llm.Request{Messages: content, Tools: tools}))
	if err != nil || reply.Chunk.NumCalls() != 3 || reply.Stop != llm.StopCalls {
		t.Errorf("%v, %v", reply, err)
	}
	if reply.Usage.Unreported != 0 || !reply.Usage.Cost.Known() {
		t.Errorf("usage %+v: an offline reply costs nothing, and that is known", reply.Usage)
	}
}

func TestDenied(t *testing.T) {
	content := session.Transcript{}.Append(session.User(session.Text("run `rm -rf /`")))
	req := &llm.Request{Messages: content, Tools: tools}
	reply, _ := llm.Collect(offline.New().Stream(t.Context(), req))
	for c := range reply.Chunk.Calls() {
		req.Messages = content.Append(reply.Chunk, session.ToolResult(
			session.Answer{CallID: c.ID, Tool: c.Name, Outcome: session.Denied}, session.Text(`{"ok":false,"message":"no"}`)))
	}
	reply, err := llm.Collect(offline.New().Stream(t.Context(), req))
	if err != nil || reply.Chunk.Text() != "I was not allowed to: no" {
		t.Errorf("%q, %v", reply.Chunk.Text(), err)
	}
}

func FuzzAsk(f *testing.F) {
	for _, s := range []string{"count the words in a", "write \"x\" to y and then read it; run `z`", "compute ((((", "find [", "\"", "search for"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, request string) {
		ask(t, world{"a": "a b"}, tools, request)
	})
}

func Example() {
	req := &llm.Request{Messages: session.FromUser("Compute 6 * 7").Transcript()}
	reply, err := llm.Collect(offline.New().Stream(context.Background(), req))
	fmt.Println(reply.Chunk.Text(), err)
	// Output: 6 * 7 = 42 <nil>
}

func TestConformance(t *testing.T) {
	llmtest.TestModel(t, func(*testing.T, ...scripted.Reply) llm.Model { return offline.New() }, &llmtest.Options{Unscripted: true})
}

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
	"pgregory.net/rapid"
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

// shellKey is where a world has what every command puts out.
const shellKey = "\x00shell"

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
		if in.Path == "src" {
			return `{"ok":false,"error_kind":"not_a_regular_file","message":"read src: not a regular file"}`, session.Failed
		}
		if !ok {
			return `{"ok":false,"error_kind":"path_not_found","message":"read ` + in.Path + `: file does not exist"}`, session.Failed
		}
		var page struct{ Offset int }
		json.Unmarshal([]byte(c.Arguments), &page)
		rest := text[page.Offset:]
		if len(rest) > 10 { // pages of ten bytes
			return out(map[string]any{"data": rest[:10], "truncated": true, "next_offset": page.Offset + 10, "size_bytes": len(text)})
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
		if _, ok := w[in.Path]; ok {
			return `{"ok":false,"error_kind":"tool_execution_exception","message":"search_workspace failed","detail":"not a directory"}`, session.Failed
		}
		return out(map[string]any{"matches": []any{map[string]any{"path": "p", "line": 3, "text": in.Pattern}}})
	case "run_shell_command":
		if text, ok := w[shellKey]; ok {
			return out(map[string]any{"stdout": text})
		}
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
		// As people say it.
		{"Write hello to x.txt", "I wrote 5 bytes to x.txt."},
		{"Please write hello there to x.txt, then read it.", "I wrote 11 bytes to x.txt.\nhello there"},
		{"Write hello to my friend to x.txt and show me it", "I wrote 18 bytes to x.txt.\nhello to my friend"},
		{"put salt and pepper in x.txt then show me x.txt", "I wrote 15 bytes to x.txt.\nsalt and pepper"},
		{"write the word hello to x.txt; read x.txt", "I wrote 5 bytes to x.txt.\nhello"},
		{`Write "" to x.txt`, "I wrote 0 bytes to x.txt."},
		{"Write '' into x.txt, then count the bytes in it", "I wrote 0 bytes to x.txt.\nx.txt has 0 bytes."},
		{"Create an empty file x.txt", "I wrote 0 bytes to x.txt."},
		{"Create a file x.txt with hello", "I wrote 5 bytes to x.txt."},
		{"create a new file called x.txt that says hello you", "I wrote 9 bytes to x.txt."},
		{`Create x.txt with the content: "a ` + "`b` c" + `", then read it`, "I wrote 7 bytes to x.txt.\na `b` c"},
		{"Append bye to b.txt then read it", "I added 3 bytes to b.txt.\nsessionbye"},
		{`append "bye" to new.txt and read it`, "I added 3 bytes to new.txt.\nbye"},
		{"append bye to raw", "raw is no plain text: I do not add to it."},
		{"Add the line bye to b.txt, then show me it", "I added 4 bytes to b.txt.\nsession\nbye\n"},
		{"Run ls", "ls\nThe command ended with exit code 1."},
		{"run go vet ./...", "go vet ./...\nThe command ended with exit code 1."},
		{"run: du -sh .", "du -sh .\nThe command ended with exit code 1."},
		{"Please execute the command ls -l.", "ls -l\nThe command ended with exit code 1."},
		{`run echo "a; then b"`, "echo \"a; then b\"\nThe command ended with exit code 1."},
		{"Count the files", ". holds 1 file and 1 folder."},
		{"How many files are there in the src folder?", "src holds 1 file and 1 folder."},
		{"how many files does src have", "src holds 1 file and 1 folder."},
		{"count all the files in this folder", ". holds 1 file and 1 folder."},
		{"Count the *.go files in src", "1 match of *.go in src and below."},
		{"How many lines in a.txt", "a.txt has 1 line."},
		{"List files", ". holds 2 entries:\na/\nb"},
		{"What files are in src?", "src holds 2 entries:\na/\nb"},
		{"list ..", ".. holds 2 entries:\na/\nb"},
		{"ls", ". holds 2 entries:\na/\nb"},
		{"show me the files in the folder src, please", "src holds 2 entries:\na/\nb"},
		{"Show me b.txt", "session"},
		{"Show me b.txt and my.txt", "session\nThat did not work: read my.txt: file does not exist"},
		{"show me src", "src holds 2 entries:\na/\nb"},
		{"What is in b.txt?", "session"},
		{"what's in src", "src holds 2 entries:\na/\nb"},
		{"What is in this folder", ". holds 2 entries:\na/\nb"},
		{"Search for hello world in src", "\"hello world\" is on 1 line:\np:3: hello world"},
		{"search src for hello world", "\"hello world\" is on 1 line:\np:3: hello world"},
		{"search for ess in b.txt", "\"ess\" is on 1 line:\nb.txt:1: session"},
		{"search for nothing in b.txt", "\"nothing\" is on no line."},
		{"How often does s occur in b.txt", `"s" occurs 3 times in b.txt.`},
		{"Calculate 3*4", "3*4 = 12"},
		{"what is 3 times 4 plus 1", "3 times 4 plus 1 = 13"},
		{"Could you please calculate 12 divided by 4?", "12 divided by 4 = 3"},
		{"3*4", "3*4 = 12"},
		{"list src then count the files in it", "src holds 2 entries:\na/\nb\nsrc holds 1 file and 1 folder."},
		{"Count the words in: OpenRath makes agent clusters traceable.", "word_count says: 5"},
	} {
		w := world{"a.txt": words, "b.txt": "session", "my file.txt": "my file", "raw": "x\uFFFD"}
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

// A description of a text is not the text: nothing is done rather than the wrong thing.
func TestDoesNotGuess(t *testing.T) {
	for _, request := range []string{
		"Write a poem to poem.txt", "write me a summary of a.txt to s.txt", "Create a file x.txt with a list of primes",
		"Read a.txt then write it to b.txt", "Run the tests", "run it", "Run all the checks", "show me how to cook", "Read me a story",
		"read it", "search for it", "Append my notes to x.txt", "Find out why", "what is love?", "What is x", "hello", "", "  ", "2024-01-02",
		"add 3 to 4", `search for ""`, `how often does "" occur in a.txt`, "read a.txt then dance", "look at the stars tonight", "search for",
	} {
		got, calls := ask(t, world{"a.txt": "x"}, tools, request)
		if calls != 0 || !strings.Contains(got, "- Count the words in README.md\n") {
			t.Errorf("%q: %d calls, %q", request, calls, got)
		}
	}
}

// What help shows is understood, word for word.
func TestExamples(t *testing.T) {
	for _, asked := range []string{"help", "What can you do?", "nonsense"} {
		help, _ := ask(t, world{}, tools[:6], asked)
		examples := strings.Split(help, "\n- ")[1:]
		if len(examples) < 12 || strings.Contains(help, "I do not know") != (asked == "nonsense") {
			t.Errorf("%q: %s", asked, help)
		}
		for _, e := range examples {
			if got, _ := ask(t, world{}, tools, e); strings.Contains(got, "I do not know") {
				t.Errorf("%q is not understood", e)
			}
		}
	}
}

// A text in quotes is written to the byte, whatever it says.
func TestQuotedTextIsKept(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(
			rapid.StringMatching("[^\"]*"),
			rapid.SampledFrom([]string{"", " ", "a; then b", "it and read it", "x to y.txt", "`", "'", "then", "a.b.", "“"}),
		).Draw(r, "text")
		if text = strings.ToValidUTF8(text, ""); strings.Contains(text, "`") && strings.Contains(text, "“") {
			return
		}
		w := world{}
		ask(t, w, tools, `Write "`+text+`" to x.txt, then read it`)
		if got, ok := w["x.txt"]; !ok || got != text {
			r.Fatalf("wrote %q for %q", got, text)
		}
	})
}

// A file whose pages are too many is counted by the shell where there is one; the answer
// says so where there is none. No reply calls tools for ever.
func TestLongFile(t *testing.T) {
	long := strings.Repeat("one two\n", 1000)
	wc := "wc -l < 'my file.txt'"
	for _, test := range []struct {
		request, name, want string
		tools               []llm.Tool
	}{
		{"count the words in f", "f", "f has 7 words.", tools},
		{`count the lines in "my file.txt"`, "my file.txt", "my file.txt has 7 lines.", tools},
		{`count the lines in "my file.txt"`, "my file.txt", "my file.txt has 8000 bytes: that is too long for me to read page by page. In a shell, this counts it: " + wc, tools[:1]},
		{"count the bytes in f", "f", "f has 8000 bytes.", tools},
		{"how often does one occur in f", "f", `"one" occurs 7 times in f.`, tools},
		{"read f", "f", "f has 8000 bytes: that is too long for me to read page by page. In a shell, this shows its beginning: head -c 2000 f", tools},
		{"search for one in f", "f", "f has 8000 bytes: that is too long for me to read page by page. In a shell, this searches it: grep -nF -e one < f", tools},
		{"append x to f", "f", "f has 8000 bytes: that is too long for me to read page by page. In a shell, this adds to it: printf %s x >> f", tools},
		{"count the words in s then count the words in t", "f", "s has 80 words.\nt has 7 words.", tools}, // the first one takes most rounds
	} {
		w := world{test.name: long, "s": long[:320], "t": long[:320], shellKey: "  7\n"}
		got, calls := ask(t, w, test.tools, test.request)
		if got != test.want || calls > 60 {
			t.Errorf("%q: %d calls\n got %q\nwant %q", test.request, calls, got, test.want)
		}
		if _, wrote := w["x"]; wrote || w[test.name] != long {
			t.Errorf("%q changed something", test.request)
		}
	}
}

// A tool that does not say how long the file is gets no more rounds either; one that
// cuts and names no way to the rest gives no count.
func TestEndlessPages(t *testing.T) {
	for _, step := range []int{2, 0} {
		req := &llm.Request{Messages: session.FromUser("count the words in f").Transcript(), Tools: tools[:1]}
		var reply llm.Reply
		for round := 1; round < 64 && reply.Stop != llm.StopEnd; round++ {
			var err error
			if reply, err = llm.Collect(offline.New().Stream(t.Context(), req)); err != nil {
				t.Fatal(err)
			}
			req.Messages = req.Messages.Append(reply.Chunk)
			for c := range reply.Chunk.Calls() {
				page := fmt.Sprintf(`{"data":"x ","truncated":true,"next_offset":%d}`, step*round)
				req.Messages = req.Messages.Append(session.ToolResult(session.Answer{CallID: c.ID, Tool: c.Name}, session.Text(page)))
			}
		}
		if !strings.HasPrefix(reply.Chunk.Text(), "f is too long for me to read") {
			t.Errorf("steps of %d: %q", step, reply.Chunk.Text())
		}
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
	for _, s := range []string{"count the words in a", "write \"x\" to y and then read it; run `z`", "compute ((((", "find [", "\"", "search for", `write "" to y`, "append 'x' to a and read it", "count the files", "what is in a", "run a.", "find *.go in a", "“a” then it"} {
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

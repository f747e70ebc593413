package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fake answers with what it is asked.
type fake struct{}

var errFake = errors.New("it is broken")

func asked(what string, in any) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"asked": what, "in": in})
}

func (fake) Sessions(_ context.Context, in Listing) (json.RawMessage, error) {
	return json.RawMessage(`[{"id":"0a","text":"what was said\nlast"}]`), nil
}
func (fake) Session(_ context.Context, in Naming) (json.RawMessage, error) {
	if in.ID == "broken" {
		return nil, errFake
	}
	return asked("session", in)
}
func (fake) Diff(_ context.Context, in Comparing) (json.RawMessage, error) { return asked("diff", in) }
func (fake) Replay(_ context.Context, in Naming) (json.RawMessage, error)  { return asked("replay", in) }
func (fake) Fork(_ context.Context, in Naming) (json.RawMessage, error)    { return asked("fork", in) }
func (fake) Recall(_ context.Context, in Query) (json.RawMessage, error)   { return asked("recall", in) }
func (fake) Note(_ context.Context, in Noting) (json.RawMessage, error)    { return asked("note", in) }
func (fake) Remember(_ context.Context, in Remembering) (json.RawMessage, error) {
	return asked("remember", in)
}
func (fake) Notes(context.Context, Folder) (json.RawMessage, error) {
	return json.RawMessage(`[{"uri":"memory://user","notes":1},{"uri":"memory://user/a","note":true,"abstract":"an abstract"}]`), nil
}
func (fake) Run(_ context.Context, in Running, progress func(string)) (json.RawMessage, error) {
	progress("half")
	return json.RawMessage(`{"text":"the answer to ` + in.Prompt + `"}`), nil
}

func (fake) RunFlow(_ context.Context, name string, in Flowing, progress func(string)) (json.RawMessage, error) {
	progress(name)
	return json.RawMessage(`{"text":"` + name + ` on ` + in.Prompt + `"}`), nil
}

// connect makes a client of a server.
func connect(t *testing.T, o *Options, c *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	server, err := New(fake{}, o).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, c).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); _ = server.Wait() })
	return client
}

func text(t *testing.T, c *mcp.ClientSession, name string, in any) (string, bool) {
	t.Helper()
	params := &mcp.CallToolParams{Name: name, Arguments: in}
	params.SetProgressToken("p")
	res, err := c.CallTool(t.Context(), params)
	if err != nil {
		return err.Error(), true
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// A server only reads unless it is told otherwise, and what it offers says what it does.
func TestOffers(t *testing.T) {
	reading := []string{"diff_sessions", "list_notes", "list_sessions", "recall", "replay_run", "show_note", "show_session"}
	for _, test := range []struct {
		o    *Options
		want []string
	}{
		{nil, nil},
		{&Options{Write: true}, []string{"fork_session", "remember"}},
		{&Options{Run: true}, []string{"run"}},
	} {
		var reads, others []string
		for tool, err := range connect(t, test.o, nil).Tools(t.Context(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			if tool.Annotations.ReadOnlyHint {
				reads = append(reads, tool.Name)
			} else {
				others = append(others, tool.Name)
			}
		}
		if diff := cmp.Diff(reading, reads) + cmp.Diff(test.want, others); diff != "" {
			t.Error(diff)
		}
	}
	if out, failed := text(t, connect(t, nil, nil), "remember", map[string]any{"text": "x"}); !failed {
		t.Error(out)
	}
}

func TestCalls(t *testing.T) {
	progress := make(chan string, 9)
	c := connect(t, &Options{Run: true, Write: true}, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		progress <- r.Params.Message
	}})
	for name, test := range map[string]struct {
		in   any
		want string
	}{
		"list_sessions": {map[string]any{}, `{"sessions":[{"id":"0a","text":"what was said\nlast"}]}`},
		"show_session":  {map[string]any{"id": "@"}, `{"asked":"session","in":{"id":"@"}}`},
		"diff_sessions": {map[string]any{"a": "1", "b": "2"}, `{"asked":"diff","in":{"a":"1","b":"2"}}`},
		"replay_run":    {map[string]any{"id": "@"}, `{"asked":"replay","in":{"id":"@"}}`},
		"fork_session":  {map[string]any{"id": "@@2"}, `{"asked":"fork","in":{"id":"@@2"}}`},
		"recall":        {map[string]any{"query": "q"}, `{"asked":"recall","in":{"query":"q"}}`},
		"show_note":     {map[string]any{"uri": "memory://user/a"}, `{"asked":"note","in":{"uri":"memory://user/a"}}`},
		"remember":      {map[string]any{"text": "x"}, `{"asked":"remember","in":{"text":"x"}}`},
		"run":           {map[string]any{"prompt": "it"}, "the answer to it"},
	} {
		if got, failed := text(t, c, name, test.in); got != test.want || failed {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := <-progress; got != "half" {
		t.Error(got)
	}
	for name, in := range map[string]any{"show_session": map[string]any{"id": "broken"}, "run": map[string]any{"prompt": " "}, "recall": map[string]any{}} {
		if got, failed := text(t, c, name, in); !failed {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestResources(t *testing.T) {
	c := connect(t, nil, nil)
	var uris []string
	for r, err := range c.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI+" "+r.Description)
	}
	if diff := cmp.Diff([]string{"rath://session/0a what was said last", "memory://user/a an abstract"}, uris); diff != "" {
		t.Error(diff)
	}
	for uri, want := range map[string]string{
		"rath://session/0a":        `"in":{"id":"0a"}`,
		"memory://user/memories/a": `"in":{"uri":"memory://user/memories/a"}`,
		"rath://session/broken":    "",
		"file:///etc/passwd":       "",
		"rath://session/a/../../b": "",
		"rath://other/0a":          "",
	} {
		res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		switch {
		case (err != nil) != (want == ""):
			t.Errorf("%s: %v", uri, err)
		case err == nil && (!strings.Contains(res.Contents[0].Text, want) || res.CacheScope != "private"):
			t.Errorf("%s: %s", uri, res.Contents[0].Text)
		}
	}
}

// A workflow is a tool of its own, and can be read.
func TestFlows(t *testing.T) {
	progress := make(chan string, 1)
	c := connect(t, &Options{Flows: []Flow{{"review", "Write and review.", "agents: {a: {}}"}}}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Message },
	})
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if tool.Name == "run" || tool.Name == "run_review" && !strings.Contains(tool.Description, "What it does: Write and review. The run") {
			t.Error(tool.Name, tool.Description)
		}
	}
	if got, failed := text(t, c, "run_review", map[string]any{"prompt": "this"}); got != "review on this" || failed {
		t.Error(got)
	}
	if got := <-progress; got != "review" {
		t.Error(got)
	}
	if got, failed := text(t, c, "run_review", map[string]any{"prompt": " "}); !failed {
		t.Error(got)
	}
	listed, err := c.ListResources(t.Context(), nil)
	if err != nil || len(listed.Resources) != 3 || listed.Resources[0].URI != "rath://flow/review" {
		t.Errorf("%+v %v", listed, err)
	}
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "rath://flow/review"})
	if err != nil || res.Contents[0].Text != "agents: {a: {}}" {
		t.Errorf("%+v %v", res, err)
	}
}

// A client that is promised news of the lists would wait for what never comes.
func TestCapabilities(t *testing.T) {
	got := connect(t, &Options{Run: true}, nil).InitializeResult().Capabilities
	want := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}, Resources: &mcp.ResourceCapabilities{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

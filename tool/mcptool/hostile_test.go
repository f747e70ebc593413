//go:build unix

package mcptool

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"pgregory.net/rapid"
)

// listing has a server describe its tools in another way than it made them.
func listing(tools ...*mcp.Tool) *mcp.Server {
	s := newServer()
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if list, ok := res.(*mcp.ListToolsResult); ok {
				list.Tools, list.NextCursor = tools, ""
			}
			return res, err
		}
	})
	return s
}

func TestHostileTools(t *testing.T) {
	t.Parallel()
	object := json.RawMessage(`{"type":"object"}`)
	tools := []*mcp.Tool{
		{Name: "good", InputSchema: object, Description: strings.Repeat("x", 1<<20)},
		{Name: "good", InputSchema: object},
		{Name: "", InputSchema: object},
		{Name: "nasty\x1b[2J", InputSchema: object},
		{Name: strings.Repeat("n", 1000), InputSchema: object},
		{Name: "text", InputSchema: json.RawMessage(`{"type":"string"}`)},
		{Name: "elsewhere", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"http://evil.example/schema"}}}`)},
		{Name: "huge", InputSchema: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`)},
		{Name: "bare", InputSchema: json.RawMessage(`{}`)},
		{Name: "draft7", InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false}`)},
		{Name: "output", InputSchema: object, OutputSchema: json.RawMessage(`{"$ref":"http://evil.example/schema"}`)},
	}
	c := connect(t, inMemory(listing(tools...)), nil)
	var got []string
	for _, t := range c.Tools() {
		got = append(got, t.Name)
	}
	if diff := cmp.Diff([]string{"fake__good", "fake__bare", "fake__draft7", "fake__output"}, got); diff != "" {
		t.Error(diff)
	}
	if err := c.Tools().Check(); err != nil {
		t.Error(err)
	}
	if n := len(c.Tools().Find("fake__good").Description); n > descriptionLimit+100 {
		t.Errorf("the description has %d bytes", n)
	}
	problems := strings.Join(c.Problems(), "\n")
	if len(c.Problems()) != 8 || strings.Contains(problems, "\x1b") || len(problems) > 8*noteLimit {
		t.Error(problems)
	}
}

func TestTooManyTools(t *testing.T) {
	t.Parallel()
	var tools []*mcp.Tool
	for i := range toolLimit + 10 {
		tools = append(tools, &mcp.Tool{Name: fmt.Sprint("t", i), InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	c := connect(t, inMemory(listing(tools...)), nil)
	if len(c.Tools()) != toolLimit || len(c.Problems()) != 1 {
		t.Error(len(c.Tools()), c.Problems())
	}
}

// png is an image, as far as anyone looks.
var png = []byte("\x89PNG\r\n\x1a\n and the rest")

func TestParts(t *testing.T) {
	t.Parallel()
	text := func(s string) session.Part { return session.Text(s) }
	for name, test := range map[string]struct {
		content mcp.Content
		want    session.Part
	}{
		"text":          {&mcp.TextContent{Text: "a\x1b[1mb"}, text("a\x1b[1mb")},
		"image":         {&mcp.ImageContent{MIMEType: "image/jpeg", Data: png}, session.Image("image/png", png)},
		"no image":      {&mcp.ImageContent{MIMEType: "image/png", Data: []byte{0, 1}}, text("[image: 2 bytes of image/png, which cannot be shown]")},
		"audio":         {&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("abc")}, text("[audio: 3 bytes of audio/wav, which cannot be shown]")},
		"link":          {&mcp.ResourceLink{URI: "file:///a", Name: "a"}, text(`resource link: {"uri":"file:///a","name":"a"}`)},
		"text resource": {&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", Text: "hi"}}, session.Part{Text: "hi", URL: "file:///a"}},
		"blob":          {&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Blob: []byte("hi")}}, session.Part{Text: "hi", URL: "file:///a"}},
		"pdf":           {&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "a.pdf", Blob: []byte("%PDF-1.7")}}, session.File("a.pdf", "application/pdf", []byte("%PDF-1.7"))},
		"nothing":       {&mcp.EmbeddedResource{}, text("[a resource without contents is left out]")},
	} {
		if diff := cmp.Diff([]session.Part{test.want}, parts([]mcp.Content{test.content})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	var many []mcp.Content
	for range partLimit + 5 {
		many = append(many, &mcp.TextContent{Text: "x"})
	}
	if got := parts(many); len(got) != partLimit+1 || got[partLimit].Text != "[5 more parts are left out]" {
		t.Error(len(got), got[len(got)-1])
	}
	big := append(slices.Clone(png), make([]byte, dataLimit)...)
	if got := parts([]mcp.Content{&mcp.ImageContent{Data: big}}); got[0].Kind != session.PartText {
		t.Error("a picture of any size is let in")
	}
}

func TestStructured(t *testing.T) {
	t.Parallel()
	schema, err := tool.ParseSchema(json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	if err != nil {
		t.Fatal(err)
	}
	value := map[string]any{"n": 1.0}
	for name, test := range map[string]struct {
		res    *mcp.CallToolResult
		want   []string
		failed bool
	}{
		"alone":    {&mcp.CallToolResult{StructuredContent: value}, []string{`{"n":1}`}, false},
		"as text":  {&mcp.CallToolResult{StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: `{ "n": 1 }`}}}, []string{`{ "n": 1 }`}, false},
		"and text": {&mcp.CallToolResult{StructuredContent: value, Content: []mcp.Content{&mcp.TextContent{Text: "one"}}}, []string{"one", `{"n":1}`}, false},
		"wrapped":  {&mcp.CallToolResult{StructuredContent: map[string]any{"n": "one"}, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "one"}}}, []string{"one"}, true},
		"wrong":    {&mcp.CallToolResult{StructuredContent: map[string]any{}}, []string{`{}`, "[The result is not what the tool promises"}, true},
		"failure":  {&mcp.CallToolResult{StructuredContent: map[string]any{}, IsError: true}, []string{`{}`}, true},
	} {
		got := resultOf(test.res, schema)
		if got.Failed != test.failed || len(got.Parts) != len(test.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, want := range test.want {
			if !strings.HasPrefix(got.Parts[i].Text, want) {
				t.Errorf("%s: %q", name, got.Parts[i].Text)
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	got := names("my server", []string{"a.b", "a_b", "a/b", "get-sum", strings.Repeat("x", 80)})
	if got["a_b"] != "my_server__a_b" || got["get-sum"] != "my_server__get-sum" {
		t.Error(got)
	}
	allowed := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.SliceOfDistinct(rapid.StringMatching(`[a-b./_é-]{1,5}|x{50,90}`), rapid.ID[string]).Draw(t, "names")
		server := rapid.StringMatching(`[a-z ./é]{1,40}`).Draw(t, "server")
		found := names(server, raw)
		shuffled := rapid.Permutation(raw).Draw(t, "shuffled")
		if diff := cmp.Diff(found, names(server, shuffled)); diff != "" {
			t.Fatal("it depends on the order:", diff)
		}
		taken := map[string]bool{}
		for _, r := range raw {
			if name := found[r]; !allowed.MatchString(name) || taken[name] {
				t.Fatalf("%q is named %q", r, name)
			}
			taken[found[r]] = true
		}
	})
}

func TestParseServer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Server{
		"http://h:1/mcp": {URL: "http://h:1/mcp"},
		`npx -y @scope/server-thing@1.2 "a b" 'c"d' e\ f ""`: {Command: []string{"npx", "-y", "@scope/server-thing@1.2", "a b", `c"d`, "e f", ""}},
		"  uvx\tmcp-server-git --repository . ":              {Command: []string{"uvx", "mcp-server-git", "--repository", "."}},
	} {
		got, err := ParseServer(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"http://h.example:1/mcp": "h.example", "npx -y @scope/server-thing@1.2": "server-thing", "/usr/bin/mcp-memory --x": "mcp-memory",
		"uvx mcp-server-git": "mcp-server-git", "node /srv/index.js": "index.js", "docker run -i --rm mcp/time": "time",
	} {
		s, err := ParseServer(text)
		if got := s.name(); got != want || err != nil {
			t.Errorf("%s is named %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "  ", `a "b`, `a\`, "http://"} {
		if s, err := ParseServer(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31mb\u202e\U000E0041\xff", 5)
	f.Fuzz(func(t *testing.T, text string, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		got := clean(text, n)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\x07\r\u202e") || len(got) > n+40 {
			t.Errorf("%q", got)
		}
	})
}

func TestTail(t *testing.T) {
	t.Parallel()
	var tl tail
	for i := range 5000 {
		fmt.Fprintf(&tl, "line %d\x1b\n", i)
	}
	lines := strings.Split(tl.String(), "\n")
	if len(lines) != stderrLines || lines[len(lines)-1] != "line 4999" {
		t.Error(lines)
	}
	if n := len(tl.data); n > stderrLimit {
		t.Error(n)
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	a, b := connect(t, inMemory(newServer()), nil), connect(t, inMemory(newServer()), nil)
	if _, err := Join(a, b); err == nil || !strings.Contains(err.Error(), "another name") {
		t.Error(err)
	}
	other := inMemory(newServer())
	other.Name = "other"
	set, err := Join(a, connect(t, other, nil))
	if err != nil || len(set) != 2*len(a.Tools()) || set.Check() != nil {
		t.Error(err, len(set), set.Check())
	}
}

// readable adds resources and prompts.
func readable() *mcp.Server {
	s := newServer()
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, Text: "read " + req.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "mem://a", Name: "a"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "mem://{x}/more", Name: "t"}, read)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
			{Role: "user", Content: &mcp.TextContent{Text: "Greet " + req.Params.Arguments["who"]}},
			{Role: "assistant", Content: &mcp.TextContent{Text: "Hello"}},
		}}, nil
	})
	return s
}

func TestResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	c := connect(t, inMemory(readable()), &Options{Resources: true, Prompts: true})
	resources, err := c.Resources(t.Context())
	if diff := cmp.Diff([]Resource{{URI: "mem://a", Name: "a"}, {URI: "mem://{x}/more", Name: "t", Template: true}}, resources); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if read, err := c.ReadResource(t.Context(), "mem://1/more"); err != nil || read[0].Text != "read mem://1/more" {
		t.Error(read, err)
	}
	if _, err := c.ReadResource(t.Context(), "mem://none"); err == nil {
		t.Error("there is no such resource")
	}
	prompts, err := c.Prompts(t.Context())
	if diff := cmp.Diff([]Prompt{{Name: "greet", Arguments: []Argument{{Name: "who", Required: true}}}}, prompts); diff != "" || err != nil {
		t.Error(err, diff)
	}
	chunks, err := c.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"})
	if err != nil || len(chunks) != 2 || chunks[0].Text() != "Greet Ada" || chunks[1].Kind() != session.KindAssistant {
		t.Error(chunks, err)
	}
	expect(t, c, "list_resources", `{"match":"MORE"}`, `{"resources":[{"uri":"mem://{x}/more","name":"t","template":true}]}`)
	expect(t, c, "read_resource", `{"uri":"mem://a"}`, "read mem://a")
	expect(t, c, "list_prompts", `{}`, "greet")
	expect(t, c, "get_prompt", `{"name":"greet","arguments":{"who":"Ada"}}`, "Greet Ada")
}

// The server's own tools keep their names.
func TestReadersStepAside(t *testing.T) {
	t.Parallel()
	s := readable()
	raw(s, "read_resource", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return said("own") })
	c := connect(t, inMemory(s), &Options{Resources: true})
	expect(t, c, "read_resource", `{"uri":"mem://a"}`, "own")
	expect(t, c, "rath_read_resource", `{"uri":"mem://a"}`, "read mem://a")
}

func TestImageEndToEnd(t *testing.T) {
	t.Parallel()
	s := newServer()
	raw(s, "draw", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: png}}}, nil
	})
	_, chunk := call(t, t.Context(), connect(t, inMemory(s), nil), "draw", "{}")
	for p := range chunk.Parts() {
		if p.Kind != session.PartImage || p.Data != string(png) {
			t.Error(p.Kind, base64.StdEncoding.EncodeToString([]byte(p.Data)))
		}
	}
}

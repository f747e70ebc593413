package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

func TestConformance(t *testing.T) {
	llmtest.TestModel(t, func(_ *testing.T, replies ...scripted.Reply) llm.Model { return scripted.New(replies...) }, nil)
}

func TestParse(t *testing.T) {
	replies, err := scripted.Parse([]byte(`{"replies":[
		{"text":"hi","calls":[{"name":"f","arguments":{"a": 1}},{"id":"x","name":"g","arguments":"not json"}],"usage":{"input":3,"output":4},"delay_ms":5},
		{"error":{"status":429,"message":"slow down","retry_after_ms":100}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []session.Call{{Name: "f", Arguments: `{"a": 1}`}, {ID: "x", Name: "g", Arguments: "not json"}}
	if diff := cmp.Diff(want, replies[0].Calls); diff != "" {
		t.Error(diff)
	}
	if replies[0].Usage.Input != 3 || replies[0].Delay.Milliseconds() != 5 {
		t.Errorf("%+v", replies[0])
	}
	if e := replies[1].Error; e.Kind != llm.ErrRateLimit || e.RetryAfter.Milliseconds() != 100 {
		t.Errorf("%+v", e)
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"", "{", `{"replies":[{"txt":"x"}]}`, "{\"replies\":[\n{\"calls\":[{}]}]}", `{"replies":[{"text":"x","error":{"status":1}}]}`, `{"replies":[{"text":1}]}`} {
		_, err := scripted.Parse([]byte(text))
		var e *scripted.SyntaxError
		if !errors.As(err, &e) || e.Line == 0 || e.Hint() == "" {
			t.Errorf("%q: %v", text, err)
		}
	}
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte("{\"replies\":[\n\n{\"bad\":1}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := scripted.Load(file)
	var e *scripted.SyntaxError
	if !errors.As(err, &e) || e.File != file || e.Line != 3 {
		t.Error(err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"replies":[{"text":"x","calls":[{"name":"f","arguments":{}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		replies, err := scripted.Parse(data)
		if err != nil {
			return
		}
		m := scripted.New(replies...)
		if len(replies) > 0 && replies[0].Delay == 0 {
			_, _ = llm.Collect(m.Stream(t.Context(), &llm.Request{}))
		}
	})
}

func ExampleNew() {
	m := scripted.New(
		scripted.Reply{Text: "Let me look.", Calls: []session.Call{scripted.Call("read", `{"path":"a"}`)}},
		scripted.Reply{Text: "It is empty."},
	)
	for range 2 {
		reply, err := llm.Collect(m.Stream(context.Background(), &llm.Request{}))
		fmt.Println(reply.Chunk.Text(), reply.Stop, err)
	}
	// Output:
	// Let me look. tool_calls <nil>
	// It is empty. stop <nil>
}

package llmtest_test

import (
	"testing"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
)

// A driver's own test: here for a server that omits usage.
func TestDriver(t *testing.T) {
	llmtest.TestModel(t, func(t *testing.T, replies ...scripted.Reply) llm.Model {
		s := llmtest.NewServer(t, replies...)
		s.SetQuirks(llmtest.Quirks{OmitUsage: true})
		client := llm.NewHTTPClient()
		t.Cleanup(client.CloseIdleConnections)
		m, err := openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}, &llmtest.Options{NoUsage: true})
}

// A server that plays one reply, for a test of what asks models.
func ExampleNewServer() {
	_ = func(t *testing.T) {
		server := llmtest.NewServer(t, scripted.Reply{Text: "Good morning."})
		m, err := openai.Open("m", &openai.Options{BaseURL: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		_, err = llm.Collect(m.Stream(t.Context(), &llm.Request{}))
		if asked := server.Requests(); err != nil || len(asked) != 1 || asked[0].Model != "m" {
			t.Errorf("%v, %v", asked, err)
		}
	}
}

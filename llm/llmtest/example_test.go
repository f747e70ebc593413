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

// Providers: the same agent and session over OpenAI's and Anthropic's protocols. Without
// -live both are played by a fake server in this process.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/session"
)

var live = flag.Bool("live", false, "use the real servers: OPENAI_API_KEY, OPENAI_DEFAULT_MODEL, ANTHROPIC_API_KEY, ANTHROPIC_DEFAULT_MODEL")

// fake answers one fixed reply in each protocol.
func fake(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/messages") {
		io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"Bonjour."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}`)
		return
	}
	io.WriteString(w, `{"choices":[{"message":{"content":"Bonjour."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
}

func models() ([]llm.Model, error) {
	gpt, claude := os.Getenv("OPENAI_DEFAULT_MODEL"), os.Getenv("ANTHROPIC_DEFAULT_MODEL")
	one := &openai.Options{APIKey: os.Getenv("OPENAI_API_KEY"), BaseURL: os.Getenv("OPENAI_BASE_URL")}
	two := &anthropic.Options{APIKey: os.Getenv("ANTHROPIC_API_KEY"), BaseURL: os.Getenv("ANTHROPIC_BASE_URL")}
	if !*live {
		s := httptest.NewServer(http.HandlerFunc(fake))
		gpt, claude = "gpt", "claude"
		one, two = &openai.Options{BaseURL: s.URL}, &anthropic.Options{BaseURL: s.URL}
	}
	a, err := openai.Open(gpt, one)
	if err != nil {
		return nil, err
	}
	b, err := anthropic.Open(claude, two)
	return []llm.Model{a, b}, err
}

func main() {
	flag.Parse()
	all, err := models()
	if err != nil {
		fmt.Println(err)
		return
	}
	in := session.FromUser("Say hello in French.")
	for _, m := range all {
		agent := &flow.Agent{Model: &llm.Retry{Model: m}} // rate limits and hiccups are tried again
		out, err := agent.Forward(context.Background(), in)
		fmt.Println(m, out.Text(), out.Usage().Total(), err)
	}
}

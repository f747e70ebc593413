// Providers: which model answers is a setting, as the data type of a tensor is. The agent and
// the session are the same with OpenAI's protocol, with Anthropic's, and with the many servers
// that speak one of them. Without -live both are played by a server in this process.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/session"
)

// A driver takes a model's name, a key and a base URL. With -live they come from OPENAI_API_KEY,
// OPENAI_BASE_URL and the like, or from config.json in OpenRath's home, as for the command.
func models(baseURL string) ([]llm.Model, error) {
	if live.On() {
		return live.Models()
	}
	gpt, err := openai.Open("gpt", &openai.Options{BaseURL: baseURL, APIKey: "sk-1"})
	if err != nil {
		return nil, err
	}
	claude, err := anthropic.Open("claude", &anthropic.Options{BaseURL: baseURL, APIKey: "sk-2"})
	return []llm.Model{gpt, claude}, err
}

// accounts are what may be asked for in a minute, for all agents of the process together.
var accounts llm.Limiters

// Wrappers are models themselves. [llm.Limit] waits until its account has room for a request;
// [llm.Retry] around it tries again what may go better, and stands in line again for it.
func careful(m llm.Model) llm.Model {
	return &llm.Retry{Model: &llm.Limit{Model: m, Limiter: accounts.Of(m.String(), 500, 200_000)}}
}

// swap runs one agent with each model. [llm.WithModel] puts a model in the place of those that
// the agents below have, as to() does for the modules of a network.
func swap(ctx context.Context, agent *flow.Agent, all []llm.Model, in session.Session) error {
	for _, m := range all {
		out, err := agent.Forward(llm.WithModel(ctx, careful(m)), in)
		if err != nil {
			return err
		}
		fmt.Println(m, "says", out.Text(), "for", out.Usage().Total(), "tokens")
	}
	return nil
}

// [llm.Fallback] asks the next model when one is out of reach, overloaded or out of order, but
// not when the request itself is wrong. Who was tried is told to observers like everything.
func fallBack(ctx context.Context, agent *flow.Agent, all []llm.Model, in session.Session) error {
	ctx = flow.Observe(ctx, func(e flow.Event) {
		if d, ok := e.(flow.Delta); ok && d.Attempt != nil {
			fmt.Println("attempt", d.Attempt.Number, "failed:", d.Attempt.Error.Kind)
		}
	})
	out, err := agent.Forward(llm.WithModel(ctx, &llm.Fallback{Models: all}), in)
	if err != nil {
		return err
	}
	fmt.Println("in the end:", out.Text())
	return nil
}

// fake answers in each protocol, and says under /down that it is overloaded.
func fake(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/down"):
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"Bonjour."}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":2}}`)
	default:
		io.WriteString(w, `{"choices":[{"message":{"content":"Bonjour."},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`)
	}
}

// The agent has a model of its own as well: what the context says comes before it.
func main() {
	server := httptest.NewServer(http.HandlerFunc(fake))
	defer server.Close()
	all, err := models(server.URL)
	if err != nil {
		log.Fatal(err)
	}
	down, err := openai.Open("down", &openai.Options{BaseURL: server.URL + "/down"})
	if err != nil {
		log.Fatal(err)
	}
	ctx, in := context.Background(), session.FromUser("Say hello in French.")
	agent := &flow.Agent{Name: "host", Model: all[0]}
	if err := swap(ctx, agent, all, in); err != nil {
		log.Fatal(err)
	}
	if err := fallBack(ctx, agent, append([]llm.Model{down}, all...), in); err != nil {
		log.Fatal(err)
	}
}

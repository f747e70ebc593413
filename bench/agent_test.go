//go:build unix

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	rath "github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// The two replies of a run, with about as much in them as a real server sends.
const (
	wholeCall   = `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"upper","arguments":"{\"text\":\"hello\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":20,"completion_tokens":10,"total_tokens":30,"prompt_tokens_details":{"cached_tokens":0}}}`
	wholeAnswer = `{"id":"chatcmpl-2","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"The text in capitals is HELLO."},"finish_reason":"stop"}],"usage":{"prompt_tokens":40,"completion_tokens":8,"total_tokens":48,"prompt_tokens_details":{"cached_tokens":0}}}`
)

func events(pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString("data: " + `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m",` + p + "}\n\n")
	}
	return b.String() + "data: [DONE]\n\n"
}

func delta(d string) string {
	return `"choices":[{"index":0,"delta":` + d + `,"finish_reason":null}]`
}

var (
	streamCall = events(
		delta(`{"role":"assistant","content":null}`),
		delta(`{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"upper","arguments":""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"text\""}}]}`),
		delta(`{"tool_calls":[{"index":0,"function":{"arguments":":\"hello\"}"}}]}`),
		`"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]`,
		`"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":10,"total_tokens":30}`)
	streamAnswer = events(
		delta(`{"role":"assistant","content":""}`), delta(`{"content":"The text "}`), delta(`{"content":"in capitals "}`), delta(`{"content":"is HELLO."}`),
		`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`,
		`"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":8,"total_tokens":48}`)
)

// server answers from fixed bytes, so that it costs both sides the same and little.
func server(b *testing.B) (string, *http.Client) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		answered, stream := strings.Contains(text, `"role":"tool"`), strings.Contains(text, `"stream":true`)
		kind, reply := "application/json", wholeCall
		switch {
		case stream && answered:
			kind, reply = "text/event-stream", streamAnswer
		case stream:
			kind, reply = "text/event-stream", streamCall
		case answered:
			reply = wholeAnswer
		}
		w.Header().Set("Content-Type", kind)
		io.WriteString(w, reply)
	}))
	b.Cleanup(s.Close)
	return s.URL, llm.NewHTTPClient()
}

type input struct {
	Text string `json:"text"`
}

func upper(_ context.Context, in input) (string, error) { return strings.ToUpper(in.Text), nil }

const question = "Put hello into capitals."

// byHand is the loop as one writes it on the SDK, with nothing of ours.
func byHand(ctx context.Context, client *openai.Client, stream bool) (string, error) {
	params := openai.ChatCompletionNewParams{
		Model:    "m",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You use the tool."), openai.UserMessage(question)},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "upper", Description: openai.String("Put a text into capitals."),
			Parameters: shared.FunctionParameters{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}, "required": []string{"text"}, "additionalProperties": false},
		})},
	}
	if stream {
		params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	}
	for {
		message, err := complete(ctx, client, params, stream)
		if err != nil || len(message.ToolCalls) == 0 {
			return message.Content, err
		}
		params.Messages = append(params.Messages, message.ToParam())
		for _, call := range message.ToolCalls {
			var in input
			if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
				return "", err
			}
			out, err := upper(ctx, in)
			if err != nil {
				return "", err
			}
			params.Messages = append(params.Messages, openai.ToolMessage(out, call.ID))
		}
	}
}

func complete(ctx context.Context, client *openai.Client, params openai.ChatCompletionNewParams, stream bool) (openai.ChatCompletionMessage, error) {
	if !stream {
		c, err := client.Chat.Completions.New(ctx, params)
		if err != nil {
			return openai.ChatCompletionMessage{}, err
		}
		return c.Choices[0].Message, nil
	}
	s := client.Chat.Completions.NewStreaming(ctx, params)
	defer s.Close()
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	if err := s.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	return acc.Choices[0].Message, nil
}

// cpu reports the process's CPU time a run, of client and server together.
func cpu(b *testing.B, run func() (string, error)) {
	var before, after syscall.Rusage
	n := 0
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		text, err := run()
		if err != nil || text != "The text in capitals is HELLO." {
			b.Fatal(text, err)
		}
		n++
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(used)/1e3/float64(n), "cpu-us/run")
}

// BenchmarkAgentOverHTTP: two model calls and one tool, Rath beside the same loop by hand
// on the same SDK. Rath may cost 1.15 times the CPU, and 25 us more.
func BenchmarkAgentOverHTTP(b *testing.B) {
	url, httpClient := server(b)
	sdk := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey("k"), option.WithHTTPClient(httpClient), option.WithMaxRetries(0))
	model, err := rath.Open("m", &rath.Options{BaseURL: url, APIKey: "k", HTTPClient: httpClient})
	if err != nil {
		b.Fatal(err)
	}
	t := tool.New("upper", "Put a text into capitals.", upper)
	t.Class = effect.ReadOnly
	for _, stream := range []bool{false, true} {
		agent := &flow.Agent{Prompt: "You use the tool.", Model: model, Tools: tool.Set{t}, Params: llm.Params{NoStream: !stream}}
		b.Run(fmt.Sprintf("rath/stream=%v", stream), func(b *testing.B) {
			cpu(b, func() (string, error) {
				out, err := agent.Forward(b.Context(), session.FromUser(question))
				return out.Text(), err
			})
		})
		b.Run(fmt.Sprintf("by-hand/stream=%v", stream), func(b *testing.B) {
			cpu(b, func() (string, error) { return byHand(b.Context(), &sdk, stream) })
		})
	}
}

package flow_test

import (
	"errors"
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// loops are whole conversations, played over both protocols, streamed and not.
var loops = map[string][]scripted.Reply{
	"tool": {
		{Text: "Let me see.", Calls: []session.Call{scripted.Call("upper", `{"text":"grüße"}`)}, Usage: &session.Usage{Input: 30, Output: 9, CacheRead: 20}},
		{Text: "GRÜSSE.", Usage: &session.Usage{Input: 50, Output: 4}},
	},
	"parallel_and_wrong": {
		{Reasoning: "Two at once.", Calls: []session.Call{scripted.Call("upper", `{"text":"a"}`), scripted.Call("upper", `{"txt":"b"}`), scripted.Call("lower", `{}`)}},
		{Text: "One of three."},
	},
	"cut_by_length": {{Text: "and so on and", Stop: llm.StopLength}},
	"error":         {{Calls: []session.Call{scripted.Call("upper", `{"text":"a"}`)}}, {Error: &llm.Error{Status: 400, Message: "too long"}}},
}

func TestGoldenLoops(t *testing.T) {
	for name, replies := range loops {
		for _, protocol := range []string{"openai", "anthropic"} {
			for _, noStream := range []bool{false, true} {
				file := "testdata/" + name + "_" + protocol
				if noStream {
					file += "_whole"
				}
				t.Run(file, func(t *testing.T) {
					s := llmtest.NewServer(t, replies...)
					a := &flow.Agent{Prompt: "Be brief.", Model: open(t, protocol, s), Tools: tool.Set{upper()}, Params: llm.Params{NoStream: noStream}}
					out, err := a.Forward(t.Context(), session.FromUser("Shout."))
					var failed *llm.Error
					if (name == "error") != errors.As(err, &failed) {
						t.Fatal(err)
					}
					llmtest.Golden(t, file+".txtar", s.Requests(), out)
				})
			}
		}
	}
}

func open(t *testing.T, protocol string, s *llmtest.Server) (m llm.Model) {
	t.Helper()
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	var err error
	if protocol == "openai" {
		m, err = openai.Open("m", &openai.Options{BaseURL: s.URL, HTTPClient: client})
	} else {
		m, err = anthropic.Open("m", &anthropic.Options{BaseURL: s.URL, HTTPClient: client})
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

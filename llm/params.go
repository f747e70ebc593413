package llm

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Params are the settings of one request. The zero value leaves everything to the
// server; nil and empty fields are not sent. A driver whose protocol has no such
// setting says so in its documentation and leaves it out.
type Params struct {
	Temperature         *float64           `json:"temperature,omitempty"`
	TopP                *float64           `json:"top_p,omitempty"`
	MaxTokens           int                `json:"max_tokens,omitempty"`
	MaxCompletionTokens int                `json:"max_completion_tokens,omitempty"`
	Stop                []string           `json:"stop,omitempty"`
	N                   int                `json:"n,omitempty"` // replies to make; only the first is used
	Seed                *int64             `json:"seed,omitempty"`
	FrequencyPenalty    *float64           `json:"frequency_penalty,omitempty"`
	PresencePenalty     *float64           `json:"presence_penalty,omitempty"`
	ToolChoice          ToolChoice         `json:"tool_choice,omitzero"`
	ParallelToolCalls   *bool              `json:"parallel_tool_calls,omitempty"`
	ResponseFormat      ResponseFormat     `json:"response_format,omitzero"`
	LogitBias           map[string]float64 `json:"logit_bias,omitempty"`
	Logprobs            *bool              `json:"logprobs,omitempty"`
	TopLogprobs         *int               `json:"top_logprobs,omitempty"`
	ReasoningEffort     string             `json:"reasoning_effort,omitempty"` // "low", "medium", "high", ...
	ThinkingTokens      int                `json:"thinking_tokens,omitempty"`  // Anthropic's budget for thinking
	Verbosity           string             `json:"verbosity,omitempty"`
	Metadata            map[string]string  `json:"metadata,omitempty"`
	User                string             `json:"user,omitempty"`
	Store               *bool              `json:"store,omitempty"`
	ServiceTier         string             `json:"service_tier,omitempty"`

	// PromptCache asks a provider that wants to be asked to cache the prompt, for
	// "5m" or "1h".
	PromptCache string `json:"prompt_cache,omitempty"`
	// NoStream asks for the whole reply at once, for servers that cannot stream.
	NoStream bool `json:"no_stream,omitempty"`
	// Extra is sent beside the rest at the top level of the body, and wins over it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolChoice says whether and which tools the model must call. The zero value leaves
// the choice to the server's default.
type ToolChoice struct {
	Mode string // ToolAuto, ToolNone, ToolRequired or ToolNamed
	Name string // of the tool that ToolNamed means
}

// The modes of ToolChoice.
const (
	ToolAuto     = "auto"
	ToolNone     = "none"
	ToolRequired = "required"
	ToolNamed    = "named"
)

// MarshalJSON writes OpenAI's form: a word, or an object that names a function.
func (c ToolChoice) MarshalJSON() ([]byte, error) {
	if c.Mode != ToolNamed {
		return json.Marshal(c.Mode)
	}
	var v wireChoice
	v.Type, v.Function.Name = "function", c.Name
	return json.Marshal(v)
}

// UnmarshalJSON reads OpenAI's form.
func (c *ToolChoice) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		*c = ToolChoice{Mode: word}
		return c.check()
	}
	var v wireChoice
	if err := json.Unmarshal(data, &v); err != nil {
		return fmt.Errorf("decode tool_choice: %w", err)
	}
	if v.Type != "function" || v.Function.Name == "" {
		return errors.New(`decode tool_choice: want {"type":"function","function":{"name":...}}`)
	}
	*c = ToolChoice{ToolNamed, v.Function.Name}
	return nil
}

func (c ToolChoice) check() error {
	switch c.Mode {
	case "", ToolAuto, ToolNone, ToolRequired:
		return nil
	}
	return fmt.Errorf("decode tool_choice: unknown word %q", c.Mode)
}

type wireChoice struct {
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
}

// ResponseFormat binds the form of the reply. The zero value is free text.
type ResponseFormat struct {
	Type   string          `json:"type"` // "text", "json_object" or "json_schema"
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict bool            `json:"strict,omitempty"`
}

// IsZero reports whether the reply's form is free.
func (f ResponseFormat) IsZero() bool { return f.Type == "" }

package llm_test

import (
	"strings"
	"testing"

	"github.com/openrath-go/rath/llm"
)

// A key that is not there is one thing to do, one that the server refused another.
func TestAuthHint(t *testing.T) {
	for _, test := range []struct {
		err  llm.Error
		want string
	}{
		{llm.Error{Kind: llm.ErrAuth, Model: "openai:gpt-x"}, "export OPENAI_API_KEY="},
		{llm.Error{Kind: llm.ErrAuth, Model: "anthropic:claude-x"}, "export ANTHROPIC_API_KEY="},
		{llm.Error{Kind: llm.ErrAuth, Model: "openai:gpt-x", Status: 401}, "check the API key"},
		{llm.Error{Kind: llm.ErrAuth, Model: "openai:gpt-x", Code: "auth_failed"}, "check the API key"},
		{llm.Error{Kind: llm.ErrAuth, Model: "other:x"}, "check the API key"},
	} {
		if got := test.err.Hint(); !strings.HasPrefix(got, test.want) {
			t.Errorf("%+v: %q, want %q", test.err, got, test.want)
		}
	}
}

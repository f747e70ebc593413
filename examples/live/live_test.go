package live

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The configuration comes first, as for the command, and then whom there is a key for.
func TestModels(t *testing.T) {
	for name, test := range map[string]struct {
		env    map[string]string
		config string
		want   []string
	}{
		"no key":              {nil, "", nil},
		"a key":               {map[string]string{"OPENAI_API_KEY": "k"}, "", []string{"openai:gpt-5.5"}},
		"a key and a name":    {map[string]string{"OPENAI_API_KEY": "k", "OPENAI_DEFAULT_MODEL": "m"}, "", []string{"openai:m"}},
		"a server and no key": {map[string]string{"OPENAI_BASE_URL": "http://localhost:1", "OPENAI_DEFAULT_MODEL": "m"}, "", []string{"openai:m"}},
		"the other key":       {map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_DEFAULT_MODEL": "m"}, "", []string{"anthropic:m"}},
		"both keys":           {map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "", []string{"openai:gpt-5.5", "anthropic:claude-sonnet-5"}},
		"configured": {map[string]string{"OPENAI_API_KEY": "k"},
			`{"version":1,"llm":{"default_provider":"main","providers":{"main":{"provider_kind":"anthropic","model":"m","api_key":"k"}}}}`,
			[]string{"anthropic:m", "openai:gpt-5.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			t.Setenv("OPENRATH_HOME", home)
			for _, vendor := range []string{"OPENAI", "ANTHROPIC", "AZURE", "AZURE_OPENAI"} {
				for _, name := range []string{"_API_KEY", "_BASE_URL", "_DEFAULT_MODEL", "_ENDPOINT"} {
					t.Setenv(vendor+name, test.env[vendor+name])
				}
			}
			if test.config != "" {
				if err := os.WriteFile(filepath.Join(home, "config.json"), []byte(test.config), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			all, err := Models()
			if test.want == nil != errors.Is(err, ErrNoKey) || test.want != nil && err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, m := range all {
				names = append(names, m.String())
			}
			if diff := cmp.Diff(test.want, names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

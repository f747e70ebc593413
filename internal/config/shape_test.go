package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What has the wrong shape is not taken for nothing, in either file.
func TestMisshapen(t *testing.T) {
	for text, want := range map[string]string{
		`{"redact":["ACME-[0-9]+"]}`:                      "redact: it is a list, not an object",
		`{"redact":{"patterns":"x"}}`:                     "redact.patterns: it is a text, not a list",
		`{"llm":[]}`:                                      "llm: it is a list, not an object",
		`{"llm":{"providers":[]}}`:                        "llm.providers: it is a list, not an object",
		`{"llm":{"providers":{"main.one":"gpt"}}}`:        "llm.providers.main.one: it is a text, not an object",
		`{"llm":{"providers":{"a":{"api_key":77}}}}`:      "llm.providers.a.api_key: it is a number, not a text",
		`{"mcp":[]}`:                                      "mcp: it is a list, not an object",
		`{"mcp":{"servers":{"s":{"env":["sk-secret"]}}}}`: "mcp.servers.s.env: it is a list, not an object",
		`{"memory":"x"}`:                                  "memory: it is a text, not an object",
	} {
		for _, name := range []string{"config.json", "credentials.json"} {
			dir := t.TempDir()
			put(t, dir, name, text)
			_, err := Load(dir)
			var e *Error
			if !errors.As(err, &e) || !strings.HasSuffix(err.Error(), name+": "+want) || e.Hint() == "" {
				t.Errorf("%s with %s: %v", name, text, err)
			}
		}
	}
	dir := t.TempDir()
	put(t, dir, "config.json", `{"llm":null,"redact":{"patterns":null},"other":[]}`)
	c, err := Load(dir)
	if err != nil {
		t.Fatal("null is not nothing:", err)
	}
	if err := c.Set("llm.providers.a.model", "m"); err != nil {
		t.Error(err)
	}
}

func TestUnknown(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", `{"version":1,"theirs":{"x":1},"redact":{"pattern":["a"]},
		"llm":{"default":"a","providers":{"a.b":{"modle":"m","model":"m"}}},"mcp":{"servers":{"s":{"env":{"ANY":"1"}}}}}`)
	put(t, dir, "credentials.json", `{"llm":{"providers":{"a.b":{"apikey":"sk-secret"}}}}`)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	const end = " is no setting of rath's"
	want := []string{
		c.File() + ": llm.default" + end, c.File() + ": llm.providers.a.b.modle" + end, c.File() + ": redact.pattern" + end,
		c.credentialsFile() + ": llm.providers.a.b.apikey" + end,
	}
	if diff := cmp.Diff(want, c.Unknown()); diff != "" {
		t.Error(diff)
	}
}

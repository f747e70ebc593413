package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) Env {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func put(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestHome(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if got, origin, err := Home(env("HOME", "/h")); got != "/h/.openrath" || origin != "~/.openrath" || err != nil {
		t.Error(got, origin, err)
	}
	if err := os.Mkdir(".openrath", 0o700); err != nil {
		t.Fatal(err)
	}
	if got, origin, _ := Home(env("HOME", "/h")); got != filepath.Join(dir, ".openrath") || origin != "./.openrath" {
		t.Error(got, origin)
	}
	if got, origin, _ := Home(env("OPENRATH_HOME", "x")); got != filepath.Join(dir, "x") || origin != "OPENRATH_HOME" {
		t.Error(got, origin)
	}
	put(t, dir, "file", "")
	var e *Error
	if _, _, err := Home(env("OPENRATH_HOME", "file")); !errors.As(err, &e) || e.Hint() == "" {
		t.Error(err)
	}
}

// A file as OpenRath has it, with members that are not known here.
const full = `{
  "version": 1,
  "zz": [1, 2.50],
  "llm": {
    "default_provider": "main.one",
    "providers": {
      "main.one": {
        "provider_kind": "openai",
        "model": "gpt",
        "api_key": "sk-from-config-1",
        "base_url": "http://c/v1",
        "temperature": 0.2,
        "max_tokens": 100,
        "unknown": {
          "kept": true
        }
      },
      "claude": {
        "provider_kind": "anthropic",
        "model": "opus"
      }
    }
  },
  "mcp": {
    "servers": {
      "fs": {
        "command": ["npx", "fs"]
      }
    }
  }
}
`

func TestSetKeepsTheRest(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", full)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Set("llm.providers.main.one.model", "gpt-6"); err != nil {
		t.Fatal(err)
	}
	format := func(s string) string {
		v := jsontext.Value(s)
		if err := v.Compact(); err != nil {
			t.Fatal(err)
		}
		return string(v)
	}
	if diff := cmp.Diff(format(strings.Replace(full, `"gpt"`, `"gpt-6"`, 1)), format(read(t, dir, "config.json"))); diff != "" {
		t.Error(diff)
	}
	info, _ := os.Stat(filepath.Join(dir, "config.json"))
	if info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
}

func TestSecretsAreSplitOff(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", full)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok, _ := c.Get("llm.providers.main.one.api_key"); !ok || v.Text != "****ig-1" || !strings.HasSuffix(v.Origin, "config.json") {
		t.Errorf("%+v", v)
	}
	if err := c.Set("llm.providers.main.one.api_key", "sk-new-secret-2"); err != nil {
		t.Fatal(err)
	}
	if text := read(t, dir, "config.json"); strings.Contains(text, "sk-") {
		t.Error("a secret is left in config.json", text)
	}
	c, err = Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Provider("main.one", Provider{}, env()); err != nil || p.APIKey != "sk-new-secret-2" || !strings.HasSuffix(p.Origins["api_key"], "credentials.json") {
		t.Errorf("%+v", p)
	}
	for _, v := range c.List() {
		if strings.Contains(v.Text, "secret") {
			t.Errorf("%s shows a secret", v.Key)
		}
	}
	if len(c.List()) < 9 {
		t.Errorf("%d settings are listed", len(c.List()))
	}
}

func TestProviderOrder(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", full)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Provider("main.one", Provider{Model: "flag-model"}, env("OPENAI_API_KEY", "env-key", "OPENAI_DEFAULT_MODEL", "env-model"))
	if err != nil || p.Model != "flag-model" || p.APIKey != "env-key" || p.BaseURL != "http://c/v1" || *p.Temperature != 0.2 || p.MaxTokens != 100 {
		t.Errorf("%+v", p)
	}
	if p.Origins["model"] != "flag" || p.Origins["api_key"] != "OPENAI_API_KEY" || !strings.HasSuffix(p.Origins["base_url"], "config.json") {
		t.Errorf("%v", p.Origins)
	}
	if p, err := c.Provider("claude", Provider{}, env("ANTHROPIC_API_KEY", "a", "OPENAI_API_KEY", "o")); err != nil || p.Kind != "anthropic" || p.Model != "opus" || p.APIKey != "a" {
		t.Errorf("%+v", p)
	}
}

// A folder may bring a server and a key, but no server for the user's key.
func TestForeignServer(t *testing.T) {
	const evil = `{"llm":{"providers":{"p":{"model":"m","base_url":"https://evil.example/v1"}}}}`
	withKey := strings.Replace(evil, `"model"`, `"api_key":"theirs","model"`, 1)
	key := []string{"OPENAI_API_KEY", "mine"}
	for _, test := range []struct {
		name   string
		config string
		given  Provider
		env    []string
		refuse bool
		none   bool // no key goes to the server
	}{
		{name: "the key is the user's", config: evil, env: key, refuse: true},
		{name: "no key", config: evil, none: true},
		{name: "their own key", config: withKey},
		{name: "their own key, which the user's stands above", config: withKey, env: key, refuse: true},
		{name: "the user named the server", config: evil, env: key, given: Provider{BaseURL: "https://evil.example/v1"}},
		{name: "the environment names the server", config: evil, env: append(key, "OPENAI_BASE_URL", "https://good.example")},
		{name: "the user chose the folder", config: evil, env: append(key, "OPENRATH_HOME", ".openrath")},
		{name: "this machine", config: strings.Replace(evil, "evil.example", "127.0.0.1:8000", 1), env: key, none: true},
		{name: "this machine and the user named it", config: strings.Replace(evil, "evil.example", "127.0.0.1:8000", 1), env: key, given: Provider{BaseURL: "http://127.0.0.1:8000"}},
		{name: "this machine and their own key", config: strings.Replace(withKey, "evil.example", "127.0.0.1:8000", 1)},
		{name: "this machine by name", config: strings.Replace(evil, "evil.example", "localhost:8000", 1), env: key, none: true},
		{name: "not this machine", config: strings.Replace(evil, "evil.example", "localhost.evil.example", 1), env: key, refuse: true},
		{name: "the official server", config: strings.Replace(evil, "evil.example", "api.openai.com", 1), env: key},
		{name: "the official server in the clear", config: strings.Replace(evil, "https://evil.example", "http://api.openai.com", 1), env: key, refuse: true},
		{name: "the official server as a user name", config: strings.Replace(evil, "evil", "api.openai.com@evil", 1), env: key, refuse: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if err := os.Mkdir(".openrath", 0o700); err != nil {
				t.Fatal(err)
			}
			put(t, ".openrath", "config.json", test.config)
			env := env(append(test.env, "HOME", t.TempDir())...)
			p, err := loadHome(t, env).Provider("p", test.given, env)
			var e *Error
			if refused := errors.As(err, &e) && e.Hint() != ""; refused != test.refuse {
				t.Errorf("refused: %t, want %t: %v", refused, test.refuse, err)
			}
			if err == nil && (p.APIKey == "") != test.none {
				t.Errorf("the key that goes to %s: %q (%s)", p.BaseURL, p.APIKey, p.Origins["api_key"])
			}
		})
	}
}

func loadHome(t *testing.T, env Env) *Config {
	t.Helper()
	dir, _, err := Home(env)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// In the user's own folder ./.openrath is the user's home, not somebody's.
func TestOwnFolderIsTrusted(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(".openrath", 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, ".openrath", "config.json", full)
	env := env("HOME", dir, "OPENAI_API_KEY", "mine")
	if _, origin, err := Home(env); origin != "~/.openrath" || err != nil {
		t.Error(origin, err)
	}
	if p, err := loadHome(t, env).Provider("main.one", Provider{}, env); err != nil || p.APIKey != "mine" {
		t.Errorf("%+v, %v", p, err)
	}
}

// A link in the folder may lead to the user's credentials.
func TestLinkedKeyIsNotTheFolders(t *testing.T) {
	user := t.TempDir()
	put(t, user, "credentials.json", `{"llm":{"providers":{"p":{"api_key":"mine"}}}}`)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".openrath", 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, ".openrath", "config.json", `{"llm":{"providers":{"p":{"base_url":"https://evil.example"}}}}`)
	if err := os.Symlink(filepath.Join(user, "credentials.json"), ".openrath/credentials.json"); err != nil {
		t.Skip(err)
	}
	env := env("HOME", user)
	if p, err := loadHome(t, env).Provider("p", Provider{}, env); err == nil {
		t.Errorf("%+v", p)
	}
}

func TestAzure(t *testing.T) {
	c, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{"OPENAI_API_KEY", "o", "AZURE_API_KEY", "az2"}
	old, err := c.Provider("", Provider{}, env(append(keys, "AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/openai", "AZURE_OPENAI_API_KEY", "az1")...))
	if err != nil || old.APIKey != "az1" || old.APIVersion != "2024-10-21" || old.Origins["api_version"] != "default" {
		t.Errorf("%+v", old)
	}
	if v1, err := c.Provider("", Provider{BaseURL: "https://r.openai.azure.com/openai/v1/"}, env(keys...)); err != nil || v1.APIKey != "az2" || v1.APIVersion != "" {
		t.Errorf("%+v", v1)
	}
	if other, err := c.Provider("", Provider{BaseURL: "https://evil.example/x.azure.com"}, env(keys...)); err != nil || other.APIKey != "o" {
		t.Errorf("an Azure key for another host: %+v", other)
	}
}

func TestDefault(t *testing.T) {
	none, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, "config.json", full)
	some, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	asked := loadWith(t, "llm.default_provider", "offline")
	for _, test := range []struct {
		c        *Config
		env      Env
		provider string
		kind     string
	}{
		{some, env("OPENAI_API_KEY", "k", "OPENAI_DEFAULT_MODEL", "m"), "main.one", "openai"},
		{none, env("OPENAI_API_KEY", "k", "OPENAI_DEFAULT_MODEL", "m"), "", "openai"},
		{none, env("OPENAI_BASE_URL", "http://x", "OPENAI_DEFAULT_MODEL", "m"), "", "openai"},
		{none, env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_DEFAULT_MODEL", "m"), "", "anthropic"},
		{none, env("ANTHROPIC_API_KEY", "k", "ANTHROPIC_DEFAULT_MODEL", "m", "OPENAI_API_KEY", "k"), "", "anthropic"},
		{none, env("OPENAI_API_KEY", "k"), "", "offline"},
		{none, env("ANTHROPIC_API_KEY", "k"), "", "offline"},
		{none, env(), "", "offline"},
		{asked, env("OPENAI_API_KEY", "k", "OPENAI_DEFAULT_MODEL", "m"), "", "offline"},
	} {
		if provider, kind, why := test.c.Default(test.env); provider != test.provider || kind != test.kind || why == "" {
			t.Errorf("%q, %q, %q: want %q, %q", provider, kind, why, test.provider, test.kind)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for _, test := range []struct {
		text, want string
		line       int
	}{
		{"{\n  \"version\": 1,\n  \"llm\" {}\n}", "this is not JSON", 3},
		{"", "this is not JSON", 1},
		{`{"version":2}`, "newer than this program", 0},
		{`{"llm":{"providers":{"a":{"model":1}}}}`, "llm.providers.a.model: it is a number, not a text", 0},
		{`{"a":1,"a":2}`, "duplicate", 1},
		{`[]`, "it is a list, not an object", 0},
		{`5`, "it is a number, not an object", 0},
		{`{"version":"1"}`, "its version is a text, not a number", 0},
	} {
		dir := t.TempDir()
		put(t, dir, "config.json", test.text)
		_, err := Load(dir)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), test.want) || test.line > 0 && e.Line != test.line {
			t.Errorf("%q: %v", test.text, err)
		}
	}
}

func TestSetErrors(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range [][2]string{{"nope", "x"}, {"llm.providers..model", "x"}, {"llm.providers.a.temperature", "hot"}, {"mcp.servers.a.env", "[]"},
		{"llm.default_provider", "nosuch"}, {"llm.providers.a.provider_kind", "gemini"},
		{"mcp.default_enabled", "[1"}, {"mcp.default_enabled", "[1]"}, {"mcp.servers.a.command", ` ["npx" "x"]`},
	} {
		if err := c.Set(kv[0], kv[1]); err == nil {
			t.Errorf("%v was taken", kv)
		}
	}
	if _, err := os.Stat(c.File()); err == nil {
		t.Error("something was saved:", read(t, dir, "config.json"))
	}
	for _, kv := range [][2]string{{"llm.default_provider", "offline"}, {"llm.providers.a.provider_kind", "anthropic"}, {"llm.default_provider", "a"}, {"llm.default_provider", ""}} {
		if err := c.Set(kv[0], kv[1]); err != nil {
			t.Errorf("%v: %v", kv, err)
		}
	}
	if err := c.Set("mcp.default_enabled", `["a","b"]`); err != nil {
		t.Error(err)
	}
	if err := c.Set("mcp.servers.a.command", `npx server`); err != nil || !strings.Contains(read(t, dir, "config.json"), `"server"`) {
		t.Error(err)
	}
	put(t, dir, "file", "")
	blocked := &Config{home: filepath.Join(dir, "file")}
	var e *Error
	if err := blocked.Set("llm.embedding_provider", "x"); !errors.As(err, &e) || e.Hint() == "" {
		t.Error(err)
	}
}

func TestWarnings(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", "{}")
	c, err := Load(dir)
	if err != nil || len(c.Warnings()) != 0 {
		t.Fatal(err, c.Warnings())
	}
	if err := os.Chmod(c.File(), 0o644); err != nil {
		t.Fatal(err)
	}
	if w := c.Warnings(); len(w) != 1 || !strings.Contains(w[0], "chmod 600") {
		t.Error(w)
	}
}

func TestSymlinkStays(t *testing.T) {
	real, home := t.TempDir(), t.TempDir()
	put(t, real, "c.json", "{}")
	if err := os.Symlink(filepath.Join(real, "c.json"), filepath.Join(home, "config.json")); err != nil {
		t.Skip(err)
	}
	c, err := Load(home)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Set("llm.embedding_provider", "x"); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(c.File()); info.Mode()&os.ModeSymlink == 0 || !strings.Contains(read(t, real, "c.json"), "embedding_provider") {
		t.Error("the link was replaced")
	}
}

// Whatever a file holds, changing one setting changes nothing else.
func FuzzSet(f *testing.F) {
	f.Add(full)
	f.Add(`{"llm":{"providers":{}},"x":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		put(t, dir, "config.json", text)
		c, err := Load(dir)
		if err != nil || c.Set("llm.embedding_provider", "fuzz") != nil {
			return
		}
		again, err := Load(dir)
		if err != nil {
			t.Fatalf("what was saved cannot be read: %v", err)
		}
		if v, ok, _ := again.Get("llm.embedding_provider"); !ok || v.Text != "fuzz" {
			t.Fatal("the setting is lost")
		}
		before, _ := parseObject(jsontext.Value(text))
		after, _ := parseObject(again.config)
		for _, m := range before {
			if m.name == "llm" {
				continue
			}
			v := after.get(m.name)
			a, b := m.value.Clone(), v.Clone()
			if a.Canonicalize() == nil && (b.Canonicalize() != nil || string(a) != string(b)) {
				t.Fatalf("%s was %s and is %s", m.name, m.value, v)
			}
		}
	})
}

func TestServerHidesSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:hunter2@gw.example/v1?api-key=very": "https://redacted@gw.example/v1?redacted",
		"https://gw.example/v1":                           "https://gw.example/v1",
		"::bad":                                           "(no URL)",
	} {
		if got := (Provider{BaseURL: in}).Server(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

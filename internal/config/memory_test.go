package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loadWith makes a home of settings, as `rath config set` does, and reads it again.
func loadWith(t *testing.T, settings ...string) *Config {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(settings); i += 2 {
		c, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set(settings[i], settings[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMemory(t *testing.T) {
	c := loadWith(t,
		"memory.default_provider", "notes.mine",
		"memory.providers.notes.mine.path", "/srv/notes",
		"memory.providers.notes.mine.embedding_provider", "vectors",
		"memory.providers.notes.mine.chat_provider", "main",
		"memory.providers.far.backend_kind", "openviking",
		"memory.providers.far.base_url", "https://viking.example:1933",
		"memory.providers.far.api_key", "vk-0123456789")
	mine := MemoryProvider{Name: "notes.mine", Kind: "local", Path: "/srv/notes", Embedding: "vectors", Chat: "main"}
	for name, want := range map[string]MemoryProvider{
		"":           mine,
		"notes.mine": mine,
		"far":        {Name: "far", Kind: "openviking", BaseURL: "https://viking.example:1933", APIKey: "vk-0123456789"},
	} {
		got, err := c.Memory(name, env())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", name, err, diff)
		}
	}
	if text := read(t, c.home, "config.json"); strings.Contains(text, "vk-") || !strings.Contains(read(t, c.home, "credentials.json"), "vk-") {
		t.Error("the key is not where secrets are:", text)
	}
	if v, ok, err := c.Get("memory.providers.far.api_key"); !ok || v.Text != "****6789" || err != nil {
		t.Errorf("%+v, %v", v, err)
	}
}

// A memory that has a key and nothing else is one.
func TestMemoryOfBothFiles(t *testing.T) {
	c := loadWith(t, "memory.providers.far.api_key", "vk-0123456789", "memory.providers.near.path", "p")
	for _, name := range []string{"far", "near"} {
		if m, err := c.Memory(name, env()); err != nil || m.Kind != "local" || (m.APIKey == "") == (m.Path == "") {
			t.Errorf("%+v, %v", m, err)
		}
	}
}

func TestNoMemory(t *testing.T) {
	for _, test := range []struct {
		settings        []string
		name, key, hint string
	}{
		{nil, "", "memory.default_provider", "memory.providers.NAME."},
		{nil, "typo", "memory.providers.typo", "memory.providers.typo."},
		{[]string{"memory.default_provider", "gone"}, "", "memory.default_provider", "memory.providers.gone."},
	} {
		_, err := loadWith(t, test.settings...).Memory(test.name, env())
		var e *Error
		if !errors.Is(err, ErrNoProvider) || !errors.As(err, &e) || e.Key != test.key || !strings.Contains(e.Hint(), test.hint) {
			t.Errorf("%v: %v", test.settings, err)
		}
	}
}

// A folder may bring a memory and a server, but no server for the user's key.
func TestForeignMemory(t *testing.T) {
	user := t.TempDir()
	put(t, user, "credentials.json", `{"memory":{"providers":{"p":{"api_key":"mine"}}}}`)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".openrath", 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, ".openrath", "config.json", `{"memory":{"providers":{"p":{"backend_kind":"openviking","base_url":"https://evil.example"},"q":{"base_url":"https://evil.example","api_key":"theirs"}}}}`)
	if err := os.Symlink(filepath.Join(user, "credentials.json"), ".openrath/credentials.json"); err != nil {
		t.Skip(err)
	}
	env := env("HOME", user)
	c := loadHome(t, env)
	var e *Error
	if m, err := c.Memory("p", env); !errors.As(err, &e) || e.Key != "memory.providers.p.base_url" {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err := c.Memory("q", env); err != nil || m.APIKey != "theirs" {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestEmbedding(t *testing.T) {
	c := loadWith(t,
		"llm.embedding_provider", "vectors",
		"llm.providers.vectors.model", "bge-m3",
		"llm.providers.vectors.base_url", "http://localhost:8000/v1",
		"llm.providers.bare.api_key", "sk-bare")
	env := env("OPENAI_DEFAULT_MODEL", "gpt-5.5", "OPENAI_API_KEY", "sk-env")
	for name, want := range map[string]Provider{
		"":        {Kind: "openai", Model: "bge-m3", APIKey: "sk-env", BaseURL: "http://localhost:8000/v1"},
		"vectors": {Kind: "openai", Model: "bge-m3", APIKey: "sk-env", BaseURL: "http://localhost:8000/v1"},
		"bare":    {Kind: "openai", APIKey: "sk-env"},
	} {
		got, err := c.Embedding(name, env)
		got.Origins = nil
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v\n%s", name, err, diff)
		}
	}
	for _, name := range []string{"typo", "openai"} {
		if _, err := c.Embedding(name, env); !errors.Is(err, ErrNoProvider) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := loadWith(t).Embedding("", env); !errors.Is(err, ErrNoProvider) {
		t.Error(err)
	}
}

package config

import (
	"cmp"
	"errors"
)

// ErrNoProvider is what the error of a provider wraps that has no settings.
var ErrNoProvider = errors.New("there is no such provider")

// MemoryProvider is where notes are kept.
type MemoryProvider struct {
	Name      string
	Kind      string // "local" or "openviking", or a third party's
	Path      string // local: of the store, as it is written; empty: the driver's own place
	Embedding string // the provider of models, for [Config.Embedding]; empty: only words are found
	Chat      string // the provider of models that extracts facts; empty: none are
	BaseURL   string // the server's, where there is one
	APIKey    string
}

// Memory returns the settings for a memory by name, or those of memory.default_provider
// if name is empty. The error is an [*Error]: it wraps [ErrNoProvider] if there are none,
// or is a key of the user's that the server must not get.
func (c *Config) Memory(name string, env Env) (MemoryProvider, error) {
	asked := "memory.providers." + name
	if name == "" {
		asked = "memory.default_provider"
		name, _ = c.text("memory", "default_provider")
	}
	if name == "" || !c.hasObject("memory", "providers", name) {
		return MemoryProvider{}, c.missing(asked, "memory.providers."+cmp.Or(name, "NAME")+".backend_kind local")
	}
	text := func(key string) string {
		v, _ := c.text("memory", "providers", name, key)
		return v
	}
	m := MemoryProvider{
		Name: name, Kind: cmp.Or(text("backend_kind"), "local"), Path: text("path"),
		Embedding: text("embedding_provider"), Chat: text("chat_provider"),
	}
	server := Provider{Kind: m.Kind, Origins: map[string]string{}}
	server.BaseURL, server.Origins["base_url"] = c.text("memory", "providers", name, "base_url")
	server.APIKey, server.Origins["api_key"] = c.text("memory", "providers", name, "api_key")
	err := c.guard("memory.providers."+name, &server, env)
	m.BaseURL, m.APIKey = server.BaseURL, server.APIKey
	return m, err
}

// Embedding returns the settings for a provider of models as one that makes vectors, or
// those of llm.embedding_provider if name is empty. The model is the one that the files
// name, if any: OPENAI_DEFAULT_MODEL is for chat. A provider without settings is
// [ErrNoProvider], lest the notes go to a server that a wrong name stands for.
func (c *Config) Embedding(name string, env Env) (Provider, error) {
	asked := "llm.providers." + name
	if name == "" {
		asked = "llm.embedding_provider"
		name, _ = c.text("llm", "embedding_provider")
	}
	if name == "" || !c.HasProvider(name) {
		return Provider{}, c.missing(asked, "llm.providers."+cmp.Or(name, "NAME")+".model MODEL")
	}
	return c.Provider(name, Provider{}, func(variable string) string {
		if variable == "OPENAI_DEFAULT_MODEL" {
			return ""
		}
		return env(variable)
	})
}

func (c *Config) missing(key, setting string) error {
	return &Error{File: c.File(), Key: key, Err: ErrNoProvider, hint: "rath config set " + setting}
}

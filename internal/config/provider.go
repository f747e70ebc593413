package config

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// Provider is how to reach a model. Each field's Origin says what set it.
type Provider struct {
	Kind        string // "openai" or "anthropic", or a third party's
	Model       string
	APIKey      string
	BaseURL     string
	APIVersion  string // Azure's
	Temperature *float64
	MaxTokens   int
	Origins     map[string]string // field name -> "flag", an environment variable, or a file
}

// IsAzure reports whether a base URL is a host of Azure's.
func IsAzure(baseURL string) bool {
	u, err := url.Parse(baseURL)
	return err == nil && strings.HasSuffix(u.Hostname(), ".azure.com")
}

// azureVersion is for Azure's older interface, which wants one.
const azureVersion = "2024-10-21"

// Provider returns the settings for a provider of the configuration, by name, or for a
// kind without one: what is given, above the environment, above the files. The error
// is an [*Error]: a key of the user's that the server must not get.
func (c *Config) Provider(name string, given Provider, env Env) (Provider, error) {
	p := Provider{Origins: map[string]string{}}
	at := []string{"llm", "providers", name}
	p.Kind, _ = c.text(append(at, "provider_kind")...)
	p.Kind = cmp.Or(given.Kind, p.Kind, "openai")

	set := func(field string, target *string, sources ...source) {
		for _, s := range sources {
			if s.value != "" {
				*target, p.Origins[field] = s.value, s.origin
				return
			}
		}
	}
	file := func(key string) source {
		v, origin := c.text(append(at, key)...)
		return source{v, origin}
	}
	from := func(names ...string) (s source) {
		for _, n := range names {
			if v := env(n); v != "" {
				return source{v, n}
			}
		}
		return s
	}
	flag := func(v string) source { return source{v, "flag"} }
	switch p.Kind {
	case "openai":
		set("base_url", &p.BaseURL, flag(given.BaseURL), from("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"), file("base_url"))
		keys := []string{"OPENAI_API_KEY"}
		if IsAzure(p.BaseURL) {
			keys = []string{"AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "OPENAI_API_KEY"}
		}
		set("api_key", &p.APIKey, flag(given.APIKey), from(keys...), file("api_key"))
		set("model", &p.Model, flag(given.Model), from("OPENAI_DEFAULT_MODEL"), file("model"))
		set("api_version", &p.APIVersion, flag(given.APIVersion), from("OPENAI_API_VERSION"))
		if p.APIVersion == "" && IsAzure(p.BaseURL) && !strings.HasSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1") {
			p.APIVersion, p.Origins["api_version"] = azureVersion, "default"
		}
	case "anthropic":
		set("base_url", &p.BaseURL, flag(given.BaseURL), from("ANTHROPIC_BASE_URL"), file("base_url"))
		set("api_key", &p.APIKey, flag(given.APIKey), from("ANTHROPIC_API_KEY"), file("api_key"))
		set("model", &p.Model, flag(given.Model), from("ANTHROPIC_DEFAULT_MODEL"), file("model"))
	default:
		set("base_url", &p.BaseURL, flag(given.BaseURL), file("base_url"))
		set("api_key", &p.APIKey, flag(given.APIKey), file("api_key"))
		set("model", &p.Model, flag(given.Model), file("model"))
	}
	c.numbers(&p, at)
	err := c.guard("llm.providers."+name, &p, env)
	return p, err
}

type source struct{ value, origin string }

func (c *Config) numbers(p *Provider, at []string) {
	if v, origin := c.find(append(at, "temperature")); v.Kind() == '0' {
		if t, err := strconv.ParseFloat(string(v), 64); err == nil {
			p.Temperature, p.Origins["temperature"] = &t, origin
		}
	}
	if v, origin := c.find(append(at, "max_tokens")); v.Kind() == '0' {
		if n, err := strconv.ParseFloat(string(v), 64); err == nil {
			p.MaxTokens, p.Origins["max_tokens"] = int(n), origin
		}
	}
}

// Default says which model to use when none is asked for: the configuration's default
// provider, then the environment, then the offline model. why explains the choice.
func (c *Config) Default(env Env) (provider string, kind string, why string) {
	name, origin := c.text("llm", "default_provider")
	switch {
	case name == offline && !c.HasProvider(name):
		return "", offline, "llm.default_provider in " + origin
	case name != "":
		kind, _ := c.text("llm", "providers", name, "provider_kind")
		return name, cmp.Or(kind, "openai"), "llm.default_provider in " + origin
	}
	model := env("OPENAI_DEFAULT_MODEL")
	key := set(env, "OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_API_KEY")
	base := set(env, "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT")
	switch {
	case model != "" && (key != "" || base != ""):
		return "", "openai", "OPENAI_DEFAULT_MODEL"
	case env("ANTHROPIC_API_KEY") != "" && env("ANTHROPIC_DEFAULT_MODEL") != "":
		return "", "anthropic", "ANTHROPIC_DEFAULT_MODEL"
	case key != "":
		return "", offline, key + " is set, but no model is named: set OPENAI_DEFAULT_MODEL or use --model openai:NAME"
	case env("ANTHROPIC_API_KEY") != "":
		return "", offline, "ANTHROPIC_API_KEY is set, but no model is named: set ANTHROPIC_DEFAULT_MODEL or use --model anthropic:NAME"
	}
	return "", offline, "no model is configured"
}

// set is the first of the variables that is set.
func set(env Env, names ...string) string {
	for _, name := range names {
		if env(name) != "" {
			return name
		}
	}
	return ""
}

// offline is the kind of the model that is built in, and needs no settings.
const offline = "offline"

package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Config is the two files of a home. Change it with Set, which saves.
type Config struct {
	home        string
	config      jsontext.Value
	credentials jsontext.Value
}

// Load reads a home. Missing files are empty ones.
func Load(home string) (*Config, error) {
	c := &Config{home: home}
	var err error
	if c.config, err = load(c.File()); err != nil {
		return nil, err
	}
	if c.credentials, err = load(c.credentialsFile()); err != nil {
		return nil, err
	}
	return c, nil
}

// File returns where the settings are.
func (c *Config) File() string { return filepath.Join(c.home, "config.json") }

// Files returns the files that may hold keys. They need not exist.
func (c *Config) Files() []string { return []string{c.File(), c.credentialsFile()} }

func (c *Config) credentialsFile() string { return filepath.Join(c.home, "credentials.json") }

// Warnings tells of files with keys that others can read.
func (c *Config) Warnings() (warnings []string) {
	for _, file := range c.Files() {
		info, err := os.Stat(file)
		if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
			warnings = append(warnings, fmt.Sprintf("%s can be read by others: chmod 600 %s", file, file))
		}
	}
	return warnings
}

// known are the keys, * for a name of the user's choice, with the type of their value:
// secrets are an object of texts that may be secret.
var known = []struct{ key, kind string }{
	{"llm.default_provider", "provider"},
	{"llm.embedding_provider", "text"},
	{"llm.vlm_provider", "text"},
	{"llm.providers.*.provider_kind", "provider kind"},
	{"llm.providers.*.model", "text"},
	{"llm.providers.*.api_key", "secret"},
	{"llm.providers.*.base_url", "text"},
	{"llm.providers.*.temperature", "number"},
	{"llm.providers.*.max_tokens", "number"},
	{"mcp.default_enabled", "list"},
	{"mcp.servers.*.command", "list"},
	{"mcp.servers.*.env", "secrets"},
	{"mcp.servers.*.cwd", "text"},
	{"mcp.servers.*.url", "text"},
	{"mcp.servers.*.headers", "secrets"},
	{"mcp.servers.*.bearer_token", "secret"},
	{"mcp.servers.*.timeout", "number"},
	{"mcp.servers.*.ignore_hints", "truth value"},
	{"memory.default_provider", "text"},
	{"memory.providers.*.backend_kind", "text"},
	{"memory.providers.*.path", "text"},
	{"memory.providers.*.embedding_provider", "text"},
	{"memory.providers.*.chat_provider", "text"},
	{"memory.providers.*.base_url", "text"},
	{"memory.providers.*.api_key", "secret"},
	{"redact.patterns", "patterns"},
}

// keyOf finds the path of a key and the type of its value. A name may hold dots.
func keyOf(key string) (path []string, kind string, err error) {
	for _, k := range known {
		before, after, starred := strings.Cut(k.key, "*")
		if !starred {
			if key == k.key {
				return strings.Split(key, "."), k.kind, nil
			}
			continue
		}
		name, ok := strings.CutPrefix(key, before)
		name, ok2 := strings.CutSuffix(name, after)
		if ok && ok2 && name != "" {
			path := strings.Split(strings.TrimSuffix(before, "."), ".")
			return append(path, name, strings.TrimPrefix(after, ".")), k.kind, nil
		}
	}
	return nil, "", &Error{File: fmt.Sprintf("key %q", key), Err: ErrUnknownKey, hint: "the keys are " + keys()}
}

// What the error of a key wraps that no setting has, and of a value that does not fit.
var (
	ErrUnknownKey = errors.New("there is no such key")
	ErrValue      = errors.New("wrong value")
)

func keys() string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = strings.ReplaceAll(k.key, "*", "NAME")
	}
	return strings.Join(names, ", ")
}

// Value is a setting and where it comes from.
type Value struct {
	Key    string
	Text   string // secrets are redacted
	Origin string // a file of the home
}

// HasProvider reports whether there are settings for a provider of models.
func (c *Config) HasProvider(name string) bool { return c.hasObject("llm", "providers", name) }

func (c *Config) hasObject(path ...string) bool {
	v, _ := c.find(path)
	return v.Kind() == '{'
}

// Get returns a setting; false if it is not set.
func (c *Config) Get(key string) (Value, bool, error) {
	path, kind, err := keyOf(key)
	if err != nil {
		return Value{}, false, err
	}
	v, origin := c.find(path)
	if v == nil {
		return Value{Key: key}, false, nil
	}
	return Value{key, show(v, kind), origin}, true, nil
}

// find looks a path up in both files; credentials.json wins.
func (c *Config) find(path []string) (jsontext.Value, string) {
	if v := lookup(c.credentials, path); v != nil {
		return v, c.credentialsFile()
	}
	if v := lookup(c.config, path); v != nil {
		return v, c.File()
	}
	return nil, ""
}

func (c *Config) text(path ...string) (text, origin string) {
	v, origin := c.find(path)
	if v.Kind() == '"' && json.Unmarshal(v, &text) == nil {
		return text, origin
	}
	return "", ""
}

func show(v jsontext.Value, kind string) string {
	if o, err := parseObject(v); err == nil && kind == "secrets" {
		v = o.redacted().encode()
	}
	var text string
	if json.Unmarshal(v, &text) != nil {
		v = v.Clone()
		_ = v.Compact() // it was valid when it was read
		return string(v)
	}
	if kind == "secret" {
		return Redact(text)
	}
	return text
}

// Redact keeps at most the last four characters of a secret.
func Redact(secret string) string {
	if len(secret) < 12 {
		return "****"
	}
	return "****" + secret[len(secret)-4:]
}

// redacted is an object whose values cannot be read.
func (o object) redacted() (out object) {
	for _, m := range o {
		var text string
		if json.Unmarshal(m.value, &text) != nil {
			text = "" // of another type: nothing of it is shown
		}
		hidden, _ := jsontext.AppendQuote(nil, Redact(text)) // stars and what was valid
		out = append(out, member{m.name, hidden})
	}
	return out
}

// Set changes a setting and saves the file that it belongs to: secrets go into
// credentials.json, the rest into config.json. The text is read by the setting's type.
func (c *Config) Set(key, text string) error {
	path, kind, err := keyOf(key)
	if err != nil {
		return err
	}
	v, err := valueOf(text, kind)
	if err == nil && kind == "provider" {
		err = c.checkProvider(text)
	}
	if err != nil {
		return &Error{File: c.File(), Key: key, Err: fmt.Errorf("%w: %w", ErrValue, err), hint: "give it " + forms[kind]}
	}
	if kind != "secret" && kind != "secrets" {
		return c.change(&c.config, c.File(), path, v)
	}
	if err := c.change(&c.credentials, c.credentialsFile(), path, v); err != nil {
		return err
	}
	if lookup(c.config, path) == nil {
		return nil
	}
	return c.change(&c.config, c.File(), path, jsontext.Value("null")) // the old one must not stay behind
}

func (c *Config) change(file *jsontext.Value, name string, path []string, v jsontext.Value) error {
	fresh, err := load(name) // another process may have saved since
	if err != nil {
		return err
	}
	if *file, err = replace(fresh, path, v); err != nil {
		return &Error{File: name, Key: strings.Join(path, "."), Err: err}
	}
	return save(name, *file)
}

// forms are what the values look like that can be wrong.
var forms = map[string]string{
	"number":        "a number such as 0.5",
	"provider kind": "openai or anthropic: many servers speak the protocol of one of them",
	"truth value":   "true or false",
	"list":          `words, or a JSON list such as ["npx","server"]`,
	"secrets":       `a JSON object of texts such as {"NAME":"value"}`,
	"provider":      "the name of a provider that has settings, such as main after rath config set llm.providers.main.model NAME, or offline",
	"patterns":      `a regular expression, or a JSON list such as ["ACME-[0-9]+","(?i)badge: (\\w+)"]`,
}

// providerKinds are what there are drivers for.
var providerKinds = []string{"openai", "anthropic"}

// checkProvider refuses a default that no run could use. The empty one is none.
func (c *Config) checkProvider(name string) error {
	if name == "" || name == offline || c.HasProvider(name) {
		return nil
	}
	return fmt.Errorf("the provider %q has no settings", name)
}

func valueOf(text, kind string) (jsontext.Value, error) {
	if kind == "provider kind" && !slices.Contains(providerKinds, text) {
		return nil, fmt.Errorf("%q is none of %s", text, strings.Join(providerKinds, ", "))
	}
	switch kind {
	case "text", "secret", "provider", "provider kind":
		return jsontext.AppendQuote(nil, text)
	case "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("%q is no number", text)
		}
	case "list":
		return listValue(text)
	case "patterns":
		return patternsValue(text)
	case "secrets":
		if err := json.Unmarshal([]byte(text), new(map[string]string)); err != nil {
			return nil, errors.New("it is no JSON object of texts") // it may be secret
		}
		return jsontext.Value(text), nil
	}
	v := jsontext.Value(text)
	if !v.IsValid() || kindName(v.Kind()) != kind {
		return nil, fmt.Errorf("%q is no JSON %s", text, kind)
	}
	return v, nil
}

// listValue reads a list of texts. Words do for one, but what begins as JSON must be that.
func listValue(text string) (jsontext.Value, error) {
	if !strings.HasPrefix(strings.TrimSpace(text), "[") {
		return json.Marshal(strings.Fields(text))
	}
	if json.Unmarshal([]byte(text), new([]string)) != nil {
		return nil, fmt.Errorf("%q is no JSON list of texts", text)
	}
	return jsontext.Value(text), nil
}

// List returns every known setting that is set.
func (c *Config) List() []Value {
	var values []Value
	for _, k := range known {
		for _, key := range c.expand(k.key) {
			if v, ok, err := c.Get(key); ok && err == nil && v.Text != "null" {
				values = append(values, v)
			}
		}
	}
	return values
}

// expand puts every name that is used in the place of the star.
func (c *Config) expand(key string) []string {
	before, after, starred := strings.Cut(key, "*")
	if !starred {
		return []string{key}
	}
	var names []string
	for _, file := range []jsontext.Value{c.config, c.credentials} {
		o, err := parseObject(lookup(file, strings.Split(strings.TrimSuffix(before, "."), ".")))
		if err != nil {
			continue
		}
		for _, m := range o {
			name := before + m.name + after
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

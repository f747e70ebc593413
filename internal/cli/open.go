package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

// models opens the drivers by the scheme of a model's URL.
var models = map[string]func(name string, p config.Provider) (llm.Model, error){
	"offline":  func(string, config.Provider) (llm.Model, error) { return offline.New(), nil },
	"scripted": func(name string, _ config.Provider) (llm.Model, error) { return scripted.Load(name) },
	"openai": func(name string, p config.Provider) (llm.Model, error) {
		m, err := openai.Open(name, &openai.Options{
			APIKey: p.APIKey, BaseURL: p.BaseURL, APIVersion: p.APIVersion,
		})
		if err != nil {
			return nil, err
		}
		return &llm.Retry{Model: m}, nil
	},
	"anthropic": func(name string, p config.Provider) (llm.Model, error) {
		m, err := anthropic.Open(name, &anthropic.Options{APIKey: p.APIKey, BaseURL: p.BaseURL})
		if err != nil {
			return nil, err
		}
		return &llm.Retry{Model: m}, nil
	},
}

// choice is the model that was chosen, and why.
type choice struct {
	scheme   string
	name     string
	provider config.Provider
	why      string
}

// choose resolves --model and --base-url: a URL such as openai:NAME, the name of a
// configured provider, or nothing.
func choose(c *config.Config, env config.Env, model, baseURL string) (choice, error) {
	given := config.Provider{BaseURL: baseURL}
	scheme, name, isURL := strings.Cut(model, ":")
	switch {
	case isURL && models[scheme] != nil:
		given.Kind, given.Model = scheme, name
		p := c.Provider(providerOf(c, scheme), given, env)
		return choice{scheme, p.Model, p, "--model"}, nil
	case isURL:
		return choice{}, usage(fmt.Errorf("model %q: unknown scheme %q: the schemes are %s", model, scheme, strings.Join(schemes(), ", ")))
	case model != "":
		if _, ok, _ := c.Get("llm.providers." + model + ".model"); !ok {
			return choice{}, usage(fmt.Errorf("model %q is no URL such as openai:%s, and no provider of that name is configured", model, model))
		}
		p := c.Provider(model, given, env)
		return choice{p.Kind, p.Model, p, "--model, llm.providers." + model}, nil
	}
	provider, kind, why := c.Default(env)
	given.Kind = kind
	p := c.Provider(provider, given, env)
	return choice{kind, p.Model, p, why}, nil
}

// providerOf is the configured provider whose settings a URL of a kind takes: the
// default one, if it is of that kind.
func providerOf(c *config.Config, kind string) string {
	name, defaultKind, _ := c.Default(func(string) string { return "" })
	if defaultKind == kind {
		return name
	}
	return ""
}

func schemes() []string {
	var names []string
	for s := range models {
		names = append(names, s+":")
	}
	slices.Sort(names)
	return names
}

func (c choice) open() (llm.Model, error) {
	open := models[c.scheme]
	if open == nil {
		return nil, fmt.Errorf("provider kind %q: this program has no driver for it", c.scheme)
	}
	if c.name == "" && c.scheme != "offline" {
		return nil, &hinted{fmt.Errorf("no model is named for %s", c.scheme), "use --model " + c.scheme + ":NAME"}
	}
	return open(c.name, c.provider)
}

func (c choice) params() llm.Params {
	return llm.Params{Temperature: c.provider.Temperature, MaxTokens: c.provider.MaxTokens}
}

// openSandbox opens --sandbox; nil for "none".
func openSandbox(ctx context.Context, url string) (*sandbox.Sandbox, error) {
	scheme, rest, _ := strings.Cut(url, ":")
	switch scheme {
	case "none":
		return nil, nil
	case "local":
		if rest == "" {
			rest = "."
		}
		return local.Open(ctx, rest, nil)
	}
	return nil, usage(fmt.Errorf("sandbox %q: unknown scheme: use local:DIR, or none", url))
}

// chooseTools resolves --tools.
func chooseTools(list string) (tool.Set, error) {
	all := builtin.All()
	switch list {
	case "all":
		return all, nil
	case "read":
		return builtin.ReadOnly(), nil
	case "none":
		return nil, nil
	}
	var set tool.Set
	for _, name := range strings.Split(list, ",") {
		t := all.Find(strings.TrimSpace(name))
		if t == nil {
			var names []string
			for _, t := range all {
				names = append(names, t.Name)
			}
			return nil, usage(fmt.Errorf("there is no tool %q: use all, read, none, or some of %s", name, strings.Join(names, ",")))
		}
		set = append(set, t)
	}
	return set, nil
}

// textOrFile reads the value of --system: text, or @FILE.
func textOrFile(value string) (string, error) {
	name, isFile := strings.CutPrefix(value, "@")
	if !isFile {
		return value, nil
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return "", &hinted{fmt.Errorf("read --system: %w", err), "--system @FILE reads a file; to begin with an @, put the text into a file"}
	}
	return string(data), err
}

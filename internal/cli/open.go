package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

// models opens the drivers by the scheme of a model's URL.
var models = map[string]func(name string, p config.Provider) (llm.Model, error){
	"offline":  func(string, config.Provider) (llm.Model, error) { return offline.New(), nil },
	"scripted": func(name string, _ config.Provider) (llm.Model, error) { return loadScript(name) },
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

func loadScript(file string) (llm.Model, error) {
	m, err := scripted.Load(file)
	if err == nil {
		return m, nil
	}
	if errors.As(err, new(*fs.PathError)) {
		err = &hinted{err, `--model scripted:FILE plays the replies in a file: {"replies":[{"text":"hello"}]}`}
	}
	return nil, err
}

// rest is a script that has given its first replies already: those are in the record of
// the run that goes on.
func rest(file string, given int) (llm.Model, error) {
	m, err := loadScript(file)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	replies, err := scripted.Parse(data)
	return named{scripted.New(replies[min(given, len(replies)):]...), m.String()}, err
}

// named is a model under another name.
type named struct {
	llm.Model
	name string
}

func (m named) String() string { return m.name }

// choice is the model that was chosen, and why.
type choice struct {
	scheme     string
	name       string
	configured string // the configured provider whose settings it takes, if one
	provider   config.Provider
	why        string
}

// offlineNotice tells the user that no language model answers, and why, unless the user
// has asked for it.
func offlineNotice(why string) string {
	if why == "" || strings.HasPrefix(why, "--model") {
		return offline.Notice
	}
	return offline.Notice + " (" + why + ")"
}

// choose resolves --model and --base-url: a URL such as openai:NAME, the name of a
// configured provider, or nothing.
func choose(c *config.Config, env config.Env, model, baseURL string) (choice, error) {
	given := config.Provider{BaseURL: baseURL}
	scheme, name, isURL := strings.Cut(model, ":")
	var provider, why string
	switch {
	case isURL && models[scheme] != nil:
		given.Kind, given.Model = scheme, name
		provider, why = providerOf(c, scheme), "--model"
	case isURL:
		return choice{}, usage(&hinted{fmt.Errorf("--model %q: unknown scheme %q", model, scheme), "the schemes are " + strings.Join(schemes(), ", ")})
	case model != "" && !c.HasProvider(model):
		return choice{}, usage(&hinted{
			fmt.Errorf("--model %s is no URL, and no provider of that name is configured", model),
			"--model openai:" + model + ", or rath config set llm.providers." + model + ".model NAME",
		})
	case model != "":
		provider, why = model, "--model, llm.providers."+model
	default:
		provider, given.Kind, why = c.Default(env)
	}
	chosen, err := resolve(c, env, provider, given, why)
	return chosen, cmp.Or(err, chosen.checkName(model, provider), chosen.checkBaseURL())
}

// resolve completes what is given of a model with the settings of a configured provider.
func resolve(c *config.Config, env config.Env, provider string, given config.Provider, why string) (choice, error) {
	p, err := c.Provider(provider, given, env)
	return choice{p.Kind, p.Model, provider, p, why}, err
}

// checkName wants a model's name. It may have come from the environment or the files.
func (c choice) checkName(model, provider string) error {
	switch {
	case c.name != "" || c.scheme == "offline":
		return nil
	case strings.HasSuffix(model, ":"):
		return usage(&hinted{fmt.Errorf("--model %q names no model", model), "use --model " + model + "NAME"})
	}
	return &hinted{fmt.Errorf("provider %q (%s) names no model", provider, c.why), "rath config set llm.providers." + provider + ".model NAME, or use --model " + c.scheme + ":NAME"}
}

func (c choice) checkBaseURL() error {
	p, origin := c.provider, c.provider.Origins["base_url"]
	if p.BaseURL == "" {
		return nil
	}
	if origin == "flag" && (c.scheme == "offline" || c.scheme == "scripted") {
		return usage(&hinted{fmt.Errorf("--base-url %s: the %s model asks no server", p.BaseURL, c.scheme), "name one that does, with --model openai:NAME"})
	}
	u, err := url.Parse(p.BaseURL)
	if err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return nil
	}
	const form = "it looks like http://localhost:8000/v1"
	if origin == "flag" {
		return usage(&hinted{fmt.Errorf("--base-url %s is no http or https address", p.BaseURL), form})
	}
	return &hinted{fmt.Errorf("the base URL %q from %s is no http or https address", p.BaseURL, origin), form}
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

// open opens the model; a script goes on after the replies that it has given.
func (c choice) open(given int) (llm.Model, error) {
	if c.scheme == "scripted" && given > 0 {
		return rest(c.name, given)
	}
	open := models[c.scheme]
	if open == nil {
		return nil, &hinted{fmt.Errorf("provider kind %q (%s): there is no driver for it", c.scheme, c.why), "the kinds are openai and anthropic, and many servers speak the protocol of one of them"}
	}
	return open(c.name, c.provider)
}

func (c choice) params() llm.Params {
	return llm.Params{Temperature: c.provider.Temperature, MaxTokens: c.provider.MaxTokens}
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
			return nil, usage(&hinted{fmt.Errorf("there is no tool %q", name), "use all, read, none, or some of " + strings.Join(names, ",")})
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
	if err == nil && !utf8.Valid(data) {
		err = fmt.Errorf("%s is not text in UTF-8", name)
	}
	if err != nil {
		return "", &hinted{fmt.Errorf("read --system: %w", err), "--system @FILE reads a file; to begin with an @, put the text into a file"}
	}
	return string(data), nil
}

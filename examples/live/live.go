// Package live lets every example run without a key, and with -live against a real model:
// the one that the command rath would use, or else one of the providers whose key the
// environment has.
package live

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
	"github.com/openrath-go/rath/llm/openai"
)

var live = flag.Bool("live", false, "use a real model: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_DEFAULT_MODEL; ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, ANTHROPIC_DEFAULT_MODEL; or the configuration of rath")

// ErrNoKey is returned when neither the environment nor the configuration names a model.
var ErrNoKey = errors.New("-live needs a model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, or configure one (rath config --help)")

// Or returns the given model, or with -live the first of Models, which is asked again when
// that may help. It ends the program if there is none.
func Or(m llm.Model) llm.Model {
	if !On() {
		return m
	}
	all, err := Models()
	if err != nil {
		log.Fatal(err)
	}
	return &llm.Retry{Model: all[0]}
}

// On reports whether real models are to be used.
func On() bool {
	flag.Parse()
	return *live
}

// Models opens the real models, the one that the command would use first: at least one, or
// the error says why not.
func Models() ([]llm.Model, error) {
	env := os.Getenv
	home, _, err := config.Home(env)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(home)
	if err != nil {
		return nil, err
	}
	var all []llm.Model
	for _, want := range wanted(c, env) {
		p, err := c.Provider(want.name, config.Provider{Kind: want.kind}, env)
		if err != nil {
			return nil, err
		}
		m, err := open(p)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, ErrNoKey
	}
	return all, nil
}

// provider is one of the configuration, or a kind alone.
type provider struct{ name, kind string }

// wanted are the command's choice, and then the kinds that there is a key for.
func wanted(c *config.Config, env config.Env) (all []provider) {
	name, first, _ := c.Default(env)
	if first != "offline" {
		all = append(all, provider{name, first})
	}
	for _, kind := range []string{"openai", "anthropic"} {
		if kind != first && env(strings.ToUpper(kind)+"_API_KEY") != "" {
			all = append(all, provider{"", kind})
		}
	}
	return all
}

// open opens a driver. A model that nobody named is one of the usual.
func open(p config.Provider) (llm.Model, error) {
	switch p.Kind {
	case "openai":
		name := cmp.Or(p.Model, "gpt-5.5")
		return openai.Open(name, &openai.Options{APIKey: p.APIKey, BaseURL: p.BaseURL, APIVersion: p.APIVersion})
	case "anthropic":
		name := cmp.Or(p.Model, "claude-sonnet-5")
		return anthropic.Open(name, &anthropic.Options{APIKey: p.APIKey, BaseURL: p.BaseURL})
	}
	return nil, fmt.Errorf("no driver for the provider kind %q", p.Kind)
}

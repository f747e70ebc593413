package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/internal/telemetry"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/openai"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/memory/openviking"
)

// memoryURLs are what --memory can be.
const memoryURLs = "local:NAME, local:./DIR, openviking:http://HOST:PORT, or a configured provider's name"

// memories open the drivers by the scheme of a memory's URL.
var memories = map[string]func(context.Context, memoryChoice, *memory.Options) (*memory.Store, error){
	"local": func(ctx context.Context, m memoryChoice, o *memory.Options) (*memory.Store, error) {
		opts := &local.Options{Stem: true, Memory: o}
		var err error
		if opts.Embedder, err = m.embedder(); err != nil {
			return nil, err
		}
		return local.Open(ctx, m.at, opts)
	},
	"openviking": func(ctx context.Context, m memoryChoice, o *memory.Options) (*memory.Store, error) {
		return openviking.Open(ctx, m.at, &openviking.Options{APIKey: m.key, Memory: o})
	},
}

// memoryChoice is the memory that was chosen.
type memoryChoice struct {
	name   string // in records: local:default, or the provider's
	scheme string
	at     string // a folder or an address
	key    string
	why    string

	embedding, chat string // providers of models; empty: none
	config          *config.Config
	env             config.Env
	brought         bool // the working directory has brought it
}

// chooseMemory resolves --memory: a URL, the name of a configured provider, or nothing.
func (a *app) chooseMemory(text string) (m memoryChoice, err error) {
	home, c, err := a.home()
	if err != nil {
		return m, err
	}
	m = memoryChoice{config: c, env: a.env, why: "--memory"}
	scheme, at, isURL := strings.Cut(text, ":")
	switch {
	case isURL && memories[scheme] == nil:
		return m, usage(&hinted{fmt.Errorf("--memory %q: unknown scheme %q", text, scheme), "it is " + memoryURLs})
	case isURL:
		err = m.url(scheme, at, home)
	default:
		err = m.configured(text, home)
	}
	if err != nil {
		return m, err
	}
	return m, a.guardMemory(&m, home, isURL)
}

const defaultMemory = "default"

// url takes what a URL says. A memory of the default provider's kind takes its settings,
// and its key if it is its server.
func (m *memoryChoice) url(scheme, at, home string) error {
	m.scheme, m.at, m.name = scheme, at, scheme+":"+at
	if p, err := m.config.Memory("", m.env); err == nil && p.Kind == scheme {
		m.embedding, m.chat = p.Embedding, p.Chat
		if strings.TrimSuffix(p.BaseURL, "/") == strings.TrimSuffix(at, "/") {
			m.key = p.APIKey
		}
	}
	if scheme == "local" {
		return m.folder(at, home)
	}
	m.key = cmp.Or(m.key, m.env("OPENVIKING_API_KEY"))
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return usage(&hinted{fmt.Errorf("--memory %s: it names no server", scheme), "it looks like openviking:http://localhost:1933; a key goes into OPENVIKING_API_KEY or the configuration of a memory provider"})
	}
	return nil
}

// folder is that of a local memory: one with a name lies in the home.
func (m *memoryChoice) folder(at, home string) (err error) {
	at = cmp.Or(at, defaultMemory)
	if isPath := filepath.IsAbs(at) || at == "." || at == ".." || strings.ContainsAny(at, `/\`); !isPath {
		m.at, m.name = filepath.Join(home, "memory", at), "local:"+at
		return nil
	}
	m.at, err = filepath.Abs(at)
	m.name = "local:" + m.at
	return err
}

// configured takes the settings of a provider, the default one if the name is empty.
func (m *memoryChoice) configured(name, home string) error {
	if _, isSet, _ := m.config.Get("memory.default_provider"); name == "" && !isSet {
		m.scheme, m.why = "local", "no memory is configured"
		return m.folder(defaultMemory, home)
	}
	p, err := m.config.Memory(name, m.env)
	if errors.Is(err, config.ErrNoProvider) && name != "" {
		return usage(&hinted{
			fmt.Errorf("--memory %s is no URL, and no memory provider of that name is configured", name),
			"--memory local:" + name + ", or rath config set memory.providers." + name + ".backend_kind local",
		})
	}
	if err != nil {
		return err
	}
	if memories[p.Kind] == nil {
		return &hinted{fmt.Errorf("memory provider %q is of the kind %q: there is no driver for it", p.Name, p.Kind), "the kinds are local and openviking"}
	}
	if name == "" {
		m.why = "memory.default_provider in " + m.config.File()
	}
	m.name, m.scheme, m.at, m.key = p.Name, p.Kind, p.BaseURL, p.APIKey
	m.embedding, m.chat = p.Embedding, p.Chat
	switch {
	case m.scheme == "local" && p.Path == "":
		m.at = filepath.Join(home, "memory", p.Name)
	case m.scheme == "local" && !filepath.IsAbs(p.Path):
		m.at = filepath.Join(home, p.Path)
	case m.scheme == "local":
		m.at = p.Path
	case m.at == "":
		return &hinted{fmt.Errorf("memory provider %q names no server", p.Name), "rath config set memory.providers." + p.Name + ".base_url http://localhost:1933"}
	}
	return nil
}

// guardMemory looks at what the working directory has brought: what it says must not lead
// to notes of the user's, which its servers would be shown. Who types a path means it.
func (a *app) guardMemory(m *memoryChoice, home string, typed bool) error {
	brought, err := a.homeIsBrought()
	if err != nil || !brought || m.scheme != "local" {
		return err
	}
	if m.brought = within(resolved(m.at), resolved(home)); m.brought {
		return nil
	}
	m.embedding, m.chat = "", ""
	if typed && m.name == "local:"+m.at {
		return nil
	}
	err = fmt.Errorf("the memory %s is the folder %s: the working directory says so, and nothing else", m.name, m.at)
	return &hinted{err, "if it may be used here: --memory local:" + m.at}
}

// exists reports whether there is something to open. A server is asked for that.
func (m memoryChoice) exists() bool {
	if m.scheme != "local" {
		return true
	}
	_, err := os.Stat(filepath.Join(m.at, local.FileName))
	return !errors.Is(err, fs.ErrNotExist)
}

// open opens the memory.
func (m memoryChoice) open(ctx context.Context, o memory.Options) (*memory.Store, error) {
	o.Name = m.name
	s, err := memories[m.scheme](ctx, m, &o)
	return s, memoryHint(err)
}

// embedder opens the model that makes vectors, nil if there is none.
func (m memoryChoice) embedder() (memory.Embedder, error) {
	if m.embedding == "" {
		return nil, nil
	}
	p, err := m.config.Embedding(m.embedding, m.env)
	if err != nil {
		return nil, err
	}
	if p.Kind != "openai" {
		return nil, &hinted{fmt.Errorf("provider %q of the memory %s makes no vectors: its kind is %q", m.embedding, m.name, p.Kind), "name one of the kind openai in memory.providers." + m.name + ".embedding_provider"}
	}
	e, err := openai.OpenEmbedder(p.Model, &openai.EmbedOptions{Options: openai.Options{APIKey: p.APIKey, BaseURL: p.BaseURL, APIVersion: p.APIVersion}})
	if err != nil {
		return nil, err
	}
	return telemetry.Embedder(&llm.RetryEmbedder{Embedder: e, Attempts: 2}), nil // a user waits, and words do meanwhile
}

// extractor is who finds the facts in what is committed: the configured chat model, or the
// one that is given. There is none where neither is there, and where a server has its own.
func (m memoryChoice) extractor(model llm.Model, params llm.Params) (memory.Extractor, error) {
	if m.chat != "" {
		chosen, err := choose(m.config, m.env, m.chat, "")
		if err != nil {
			return nil, err
		}
		if model, err = chosen.open(0); err != nil {
			return nil, err
		}
		params = chosen.params()
	}
	if model == nil || m.scheme != "local" {
		return nil, nil
	}
	return &flow.Extractor{Model: model, Params: params}, nil
}

// memoryLog tells of what goes wrong in the background.
func (a *app) memoryLog() *slog.Logger { return slog.New(complaints{w: a.err}) }

// memoryHint says what to do about an error of a memory, and makes a usage error of a URI
// that is none.
func memoryHint(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memory.ErrInvalidURI):
		return usage(err)
	case hintOf(err) != "":
		return err
	case errors.Is(err, memory.ErrNotFound):
		return &hinted{err, "rath memory ls --tree shows what there is"}
	case errors.Is(err, memory.ErrTransport):
		return &hinted{err, "see that the server runs: rath doctor asks it"}
	}
	return err
}

// memorySchemes are the schemes, for help and completion.
func memorySchemes() (names []string) {
	for s := range memories {
		names = append(names, s+":")
	}
	slices.Sort(names)
	return names
}

// examineMemory looks at the memory that a record names. Where the working directory has
// brought the record, anybody may have written it: then it can be no memory of the user's.
func (a *app) examineMemory(s spec) error {
	brought, err := a.homeIsBrought()
	if err != nil || !brought || s.Memory == nil {
		return err
	}
	m, err := a.chooseMemory(s.Memory.Memory)
	if err != nil || m.brought {
		return err
	}
	err = fmt.Errorf("the run had the memory %s: the record in the working directory says so, and nothing else", m.name)
	return &hinted{err, "if its notes may be told here: rath rerun --memory " + m.name}
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

// runName is the name of the runs that this command begins.
const runName = "rath run"

// spec is what such a run keeps of its agent, so that another process can make it again.
type spec struct {
	modelSpec
	System   string          `json:"system,omitempty"`
	Tools    []string        `json:"tools"`
	Sandbox  string          `json:"sandbox"`
	Place    *place          `json:"place,omitempty"` // nil: it is older than isolation
	Limits   sandbox.Limits  `json:"limits,omitzero"` // where there is no place
	MaxSteps int             `json:"max_steps"`
	Yes      bool            `json:"yes,omitempty"`    // for hints: consent is given anew
	Policy   *permits        `json:"policy,omitempty"` // of all its agents
	Budget   *budgetSpec     `json:"budget,omitempty"`
	Prices   json.RawMessage `json:"prices,omitempty"` // over those that are built in
	Memory   *memorySpec     `json:"memory,omitempty"`
	MCP      *mcpSpec        `json:"mcp,omitempty"`
	Flow     *flowSpec       `json:"flow,omitempty"` // in place of one agent
}

// modelSpec is what is kept of a model. There is no key in it, nor in the base URL: that is
// looked up anew.
type modelSpec struct {
	Model      string     `json:"model"`              // its URL
	Provider   string     `json:"provider,omitempty"` // the configured one that has the key
	BaseURL    string     `json:"base_url,omitempty"`
	SecretURL  bool       `json:"secret_url,omitempty"` // there was more to the base URL
	APIVersion string     `json:"api_version,omitempty"`
	Params     llm.Params `json:"params"`

	why string // it was chosen; empty for one of the record
}

// spec makes the spec of the flags.
func (f runFlags) spec(a *app, chosen choice, home string) (s spec, err error) {
	s = spec{MaxSteps: f.maxSteps, Yes: f.consent.yes}
	s.choose(chosen)
	if s.Sandbox, s.Place, err = f.choosePlace(a, home); err != nil {
		return s, err
	}
	if s.Sandbox == "none" {
		f.tools = "none" // all of them need one
	}
	if s.Tools, err = toolNames(f.tools); err != nil {
		return s, err
	}
	if s.Memory, err = f.memory.choose(a); err != nil {
		return s, err
	}
	s.Budget = f.budget.over(nil)
	if s.Prices, err = f.budget.readPrices(); err != nil {
		return s, err
	}
	s.Policy = f.permits.orNil()
	s.System, err = textOrFile(f.system)
	return s, err
}

// choose sets the model.
func (s *modelSpec) choose(c choice) {
	s.Model, s.Provider = c.scheme+":"+c.name, c.configured
	s.APIVersion, s.Params, s.why = c.provider.APIVersion, c.params(), c.why
	s.ask(c.provider.BaseURL)
}

// ask sets the model's server.
func (s *modelSpec) ask(baseURL string) { s.BaseURL, s.SecretURL = config.PublicURL(baseURL) }

// absolute makes the folder of a sandbox's URL one that another process finds again.
func absolute(url string) (string, error) {
	scheme, dir, _ := strings.Cut(url, ":")
	if scheme != "local" {
		return url, nil
	}
	dir, err := filepath.Abs(dir)
	return "local:" + dir, err
}

func toolNames(list string) ([]string, error) {
	set, err := chooseTools(list)
	names := make([]string, len(set))
	for i, t := range set {
		names[i] = t.Name
	}
	return names, err
}

// agent makes the agent, with its memory if the spec has one.
func (s spec) agent(model llm.Model, m *memory.Store) (*flow.Agent, error) {
	a := &flow.Agent{Prompt: s.System, Model: model, Params: s.Params, MaxSteps: s.MaxSteps}
	var err error
	if len(s.Tools) > 0 {
		a.Tools, err = chooseTools(strings.Join(s.Tools, ","))
	}
	if s.Policy != nil && err == nil {
		a.Policy, err = s.Policy.policy("")
	}
	if s.Memory != nil {
		s.Memory.bind(a, m)
	}
	return a, err
}

// open opens the sandbox, with the user's keys and the records out of reach.
func (s spec) open(ctx context.Context, c *config.Config, home string) (*sandbox.Sandbox, error) {
	if err := local.ProtectEnviron(); err != nil {
		return nil, err
	}
	return s.place().open(ctx, s.Sandbox, c, home)
}

// place is where the run works. It had no isolation when there was none.
func (s spec) place() *place {
	if s.Place != nil {
		return s.Place
	}
	return &place{Policy: sandbox.Policy{Level: sandbox.LevelHost, Limits: s.Limits}}
}

// begin makes the rules those of a new run: what the old one had asked for, whatever it got
// of that, where flags do not say otherwise.
func (s *spec) begin(r rules) (err error) {
	p := s.Place
	if p.Asked.Level != "" {
		p.Policy, p.Asked = p.Asked, sandbox.Policy{}
	}
	p.Policy, err = r.at(s.Sandbox, p.Policy)
	return err
}

// resumable refuses a run whose files have gone with its sandbox.
func (s spec) resumable() error {
	if s.Place == nil || !s.Place.Uploaded {
		return nil
	}
	err := fmt.Errorf("the run worked on a copy of %s in a sandbox that is gone", s.Place.Dir)
	return &hinted{err, "rath rerun begins it anew; runs in a sandbox that stays can be resumed: rath help sandboxes"}
}

// specOf reads the spec of a run. Runs of other programs have none that this one knows.
func specOf(r store.Run) (s spec, err error) {
	if r.Name != runName {
		err := fmt.Errorf("run %s is of the workflow %q: %w", r.ID, r.Name, run.ErrUnknownWorkflow)
		return s, &hinted{err, "use the program that began it: this command only knows what rath run does"}
	}
	if err := json.Unmarshal(r.Spec, &s); err != nil {
		return s, fmt.Errorf("read the spec of run %s: %w", r.ID, err)
	}
	return s, nil
}

// workDirHome is how package config says that the working directory brought the home.
const workDirHome = "./.openrath"

// homeIsBrought reports whether the home is what somebody else may have put into the
// working directory.
func (a *app) homeIsBrought() (bool, error) {
	_, origin, err := config.Home(a.env)
	return origin == workDirHome, err
}

// modelOf finds the model of a spec again, with today's key. What server it asks may come
// from the record, but not where the working directory has brought the record with it:
// then the user's key could go anywhere.
func (a *app) modelOf(s spec, baseURL string) (choice, error) {
	brought, err := a.homeIsBrought()
	if err != nil {
		return choice{}, err
	}
	_, c, err := a.home()
	if err != nil {
		return choice{}, err
	}
	scheme, name, _ := strings.Cut(s.Model, ":")
	given := config.Provider{Kind: scheme, Model: name, APIVersion: s.APIVersion, BaseURL: baseURL}
	const why = "the record of the run"
	chosen, err := resolve(c, a.env, s.Provider, given, why)
	if now, _ := config.PublicURL(chosen.provider.BaseURL); err != nil || baseURL != "" || now == s.BaseURL || s.BaseURL == "" {
		return chosen, err
	}
	if s.SecretURL {
		err := fmt.Errorf("the run asked the server %s, and what was secret in the address is not on record", s.BaseURL)
		return choice{}, &hinted{err, "give the whole address again: --base-url URL, or as the run had it from the environment or the configuration"}
	}
	given.BaseURL = s.BaseURL
	chosen, err = resolve(c, a.env, s.Provider, given, why)
	if err == nil && brought && config.OnThisMachine(s.BaseURL) {
		chosen.provider.APIKey = "" // as package config has it
	}
	if err == nil && brought && chosen.provider.APIKey != "" {
		err := fmt.Errorf("the run asked the server %s: the record in the working directory says so, and nothing else", s.BaseURL)
		return choice{}, &hinted{err, "if your key may go there: --base-url " + s.BaseURL}
	}
	return chosen, err
}

// overrides are flags that change what a run is done with again.
type overrides struct{ model, baseURL, system, tools string }

func (o *overrides) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.model, "model", "", "another model, as for rath run")
	flags.StringVar(&o.system, "system", "", "another system prompt, or @FILE")
	flags.StringVar(&o.tools, "tools", "", "other tools: all, read, none, or names with commas")
}

// apply changes all but the model.
func (o overrides) apply(s *spec) (err error) {
	if s.Flow != nil && o.tools+o.system != "" {
		return usage(&hinted{errors.New("--system and --tools are for one agent, and the run has those of " + s.Flow.File), "rath run -f begins a run of a file that was changed"})
	}
	if o.tools != "" {
		if s.Tools, err = toolNames(o.tools); err != nil {
			return err
		}
	}
	if o.system != "" {
		s.System, err = textOrFile(o.system)
	}
	return err
}

// choose returns the model that the flags name, or the spec's own.
func (o overrides) choose(a *app, s *spec) (choice, error) {
	if o.model == "" {
		if o.baseURL == "" {
			return a.modelOf(*s, "")
		}
		chosen, err := a.modelOf(*s, o.baseURL)
		s.ask(o.baseURL)
		return chosen, err
	}
	_, c, err := a.home()
	if err != nil {
		return choice{}, err
	}
	chosen, err := choose(c, a.env, o.model, o.baseURL)
	if err == nil && s.Flow != nil {
		err = s.Flow.override(chosen)
	}
	if err == nil {
		s.choose(chosen)
	}
	return chosen, err
}

// silent stands for a model where nothing is asked: it only has its name.
type silent string

func (m silent) String() string { return string(m) }

var errSilent = errors.New("a replay asks no model")

func (m silent) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, errSilent) }
}

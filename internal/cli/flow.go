package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/pflag"
)

// flowSpec is what a run keeps of its flow's file: all of it, for the file may change.
type flowSpec struct {
	File    string               `json:"file"` // an absolute path
	Digest  string               `json:"digest"`
	Content string               `json:"content"`
	Models  map[string]modelSpec `json:"models"`            // by the names in the file; "" is the default one
	Servers map[string]mcpServer `json:"servers,omitempty"` // of MCP, that are configured

	models map[string]llm.Model
}

// readFlow reads a flow's file and checks all of it. With problems the file may be there, too.
func (a *app) readFlow(name string) (*flowfile.File, error) {
	data, err := readBounded(name, flowfile.MaxSize+1)
	if err != nil {
		return nil, usage(&hinted{fmt.Errorf("read the flow: %w", err), "name a file of YAML; examples/15_flow_file has one"})
	}
	f, err := flowfile.Parse(name, data)
	if f == nil {
		return nil, usage(err)
	}
	_, c, homeErr := a.home()
	if homeErr != nil {
		return nil, homeErr
	}
	return f, usage(flowfile.Join(err, f.Check(&flowWorld{a, c, filepath.Dir(name)})))
}

func readBounded(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// beside makes a path of a flow's file one of this process.
func beside(dir, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// besideURL does it for a URL whose scheme stands before a path.
func besideURL(dir, scheme, url string) string {
	if path, ok := strings.CutPrefix(url, scheme+":"); ok {
		return scheme + ":" + beside(dir, path)
	}
	return url
}

// besideMemory does it for a memory: one with a name lies in the home.
func besideMemory(dir, url string) string {
	if !strings.ContainsAny(url, `/\`) && url != "local:." && url != "local:.." {
		return url
	}
	return besideURL(dir, "local", url)
}

// useFlow reads the flow's file and takes what it says for the flags that are not given.
func (f *runFlags) useFlow(a *app, flags *pflag.FlagSet) error {
	if f.file == "" {
		return nil
	}
	for _, flag := range []string{"system", "tools", "mcp", "mcp-sandbox", "mcp-sampling"} {
		if flags.Changed(flag) {
			return usage(&hinted{fmt.Errorf("--%s is for one agent, and --file has its own", flag), cmp.Or(mcpInFile[flag], "change the file, or leave one of the two out")})
		}
	}
	var err error
	if f.flow, err = a.readFlow(f.file); err != nil {
		return err
	}
	for _, s := range f.fromFile() {
		if err := errors.Join(setUnlessGiven(flags, s)...); err != nil {
			return usage(fmt.Errorf("%s: %w", f.file, err))
		}
	}
	return nil
}

// setting is a flag as a file sets it.
type setting struct {
	flag   string
	values []string
}

func setUnlessGiven(flags *pflag.FlagSet, s setting) (errs []error) {
	if flags.Changed(s.flag) {
		return nil
	}
	for _, v := range s.values {
		errs = append(errs, flags.Set(s.flag, v))
	}
	return errs
}

// fromFile are the flags that the flow's file stands for.
func (f *runFlags) fromFile() (all []setting) {
	set := func(flag string, values ...string) {
		if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) > 0 {
			all = append(all, setting{flag, values})
		}
	}
	dir := filepath.Dir(f.file)
	keepsNone := f.sandbox == "none" || strings.HasPrefix(f.sandbox, "@") // the flag names one that takes no rules
	if s := f.flow.Sandbox(); s != nil && !keepsNone {
		paths := func(names []string) (out []string) {
			for _, name := range names {
				out = append(out, beside(dir, name))
			}
			return out
		}
		set("sandbox", besideURL(dir, "local", s.URL))
		set("isolation", s.Isolation)
		set("network", s.Network)
		set("read-only", paths(s.ReadOnly)...)
		set("writable", paths(s.Writable)...)
		set("max-memory", string(s.MaxMemory))
		set("max-cpu", string(s.MaxCPU))
		set("max-processes", string(s.MaxProcesses))
		set("max-file-size", string(s.MaxFileSize))
		set("snapshots", string(s.Snapshots))
	}
	if m := f.flow.Memory(); m != nil {
		set("memory", besideMemory(dir, m.Store))
		if m.Tokens != nil {
			set("memory-tokens", fmt.Sprint(*m.Tokens))
		}
		if m.Tools != nil {
			set("memory-tools", fmt.Sprint(*m.Tools))
		}
		if m.Commit != nil {
			set("commit", fmt.Sprint(*m.Commit))
		}
	}
	return all
}

// cast are the models of a run, by the names that its flow's file has for them. Without a
// file there is the one with no name.
type cast map[string]choice

// first is the model that the record of a run names.
func (c cast) first() choice { return c[slices.Sorted(maps.Keys(c))[0]] }

// choose resolves --model, and the models of the flow's file.
func (f *runFlags) choose(a *app, c *config.Config) (cast, error) {
	if f.flow == nil {
		chosen, err := choose(c, a.env, f.model, f.baseURL)
		return cast{"": chosen}, err
	}
	models := cast{}
	dir := filepath.Dir(f.file)
	for _, name := range f.flow.Models() {
		model, baseURL := besideURL(dir, "scripted", name), ""
		if name == "" {
			model, baseURL = cmp.Or(f.model, besideURL(dir, "scripted", f.flow.Model())), f.baseURL
		}
		var err error
		if models[name], err = choose(c, a.env, model, baseURL); err != nil {
			return nil, err
		}
	}
	if _, asked := models[""]; !asked && f.model+f.baseURL != "" {
		return nil, usage(&hinted{fmt.Errorf("--model is for what names no model, and all of %s names one", f.file), "leave the model out of the file where the flag is to say it"})
	}
	return models, nil
}

// useFlow puts a flow into a spec.
func (s *spec) useFlow(f *flowfile.File, models cast) error {
	file, err := filepath.Abs(f.Name)
	s.System, s.Tools = "", nil
	s.Flow = &flowSpec{File: file, Digest: f.Digest, Content: string(f.Content), Models: map[string]modelSpec{}}
	for name, chosen := range models {
		s.Flow.choose(name, chosen)
	}
	return err
}

func (f *flowSpec) choose(name string, chosen choice) {
	var m modelSpec
	m.choose(chosen)
	f.Models[name] = m
}

// castOf finds the models of a record again. A base URL is for the default one.
func (a *app) castOf(s spec, baseURL string) (cast, error) {
	if s.Flow == nil {
		chosen, err := a.modelOf(s, baseURL)
		return cast{"": chosen}, err
	}
	models := cast{}
	for name, m := range s.Flow.Models {
		address := ""
		if name == "" {
			address = baseURL
		}
		var err error
		if models[name], err = a.modelOf(spec{modelSpec: m}, address); err != nil {
			return nil, err
		}
	}
	return models, nil
}

// openCast opens the models, and returns the first. Scripts go on after the replies that
// were given. What within puts around a model, if it is not nil, sees each attempt.
func (s *spec) openCast(models cast, given func(model string) int, within func(choice, llm.Model) llm.Model) (llm.Model, error) {
	prices, err := s.table()
	if err != nil {
		return nil, err
	}
	open := func(chosen choice, name string) (llm.Model, error) {
		m, err := chosen.open(given(name))
		if err != nil {
			return nil, err
		}
		return inside(m, func(m llm.Model) llm.Model {
			if within != nil {
				m = within(chosen, m)
			}
			return &llm.Priced{Model: m, Prices: prices}
		}), nil
	}
	if s.Flow == nil {
		return open(models.first(), "")
	}
	opened := map[string]llm.Model{}
	s.Flow.models = map[string]llm.Model{}
	for name, chosen := range models {
		url := chosen.scheme + ":" + chosen.name
		m := opened[url]
		if m == nil || chosen.scheme != "scripted" {
			if m, err = open(chosen, s.Flow.Models[name].Model); err != nil {
				return nil, err
			}
			opened[url] = m
		}
		s.Flow.models[name] = m
	}
	return s.Flow.models[slices.Sorted(maps.Keys(models))[0]], nil
}

// none is for a run that begins.
func none(string) int { return 0 }

// givenBefore counts the replies on record before an event: of a flow's models each.
func (s spec) givenBefore(effects []*store.Effect, before int64) func(model string) int {
	return func(model string) int {
		if s.Flow == nil {
			return replies(effects, before)
		}
		return replies(slices.DeleteFunc(slices.Clone(effects), func(x *store.Effect) bool { return x.Name != model }), before)
	}
}

// override has another model answer where the file names none.
func (f *flowSpec) override(chosen choice) error {
	if _, asked := f.Models[""]; !asked {
		return usage(&hinted{fmt.Errorf("--model is for what names no model, and all of %s names one", f.File), "rath run -f begins a run of a file that was changed"})
	}
	f.choose("", chosen)
	return nil
}

// cast returns the models of a spec with what the flags change.
func (o overrides) cast(a *app, s *spec) (cast, error) {
	if s.Flow == nil {
		chosen, err := o.choose(a, s)
		return cast{"": chosen}, err
	}
	if o.model != "" {
		chosen, err := o.choose(a, s)
		if err != nil {
			return nil, err
		}
		models, err := a.castOf(*s, "")
		if err == nil {
			models[""] = chosen
		}
		return models, err
	}
	return a.castOf(*s, o.baseURL)
}

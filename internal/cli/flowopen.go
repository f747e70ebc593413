package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/memorytool"
)

// workflow makes what a spec's run runs, within its budget.
func (s spec) workflow(model llm.Model, m *memory.Store, dial dialer, connect connector) (flow.Workflow, error) {
	w, err := s.unbudgeted(model, m, dial, connect)
	if err != nil {
		return nil, err
	}
	return s.capped(w)
}

func (s spec) unbudgeted(model llm.Model, m *memory.Store, dial dialer, connect connector) (flow.Workflow, error) {
	if s.Flow == nil {
		return s.equip(model, m, dial)
	}
	f, err := flowfile.Parse(s.Flow.File, []byte(s.Flow.Content))
	if err == nil && f.Digest != s.Flow.Digest {
		err = fmt.Errorf("the record has another content of %s than it says", s.Flow.File)
	}
	if err != nil {
		return nil, err
	}
	return f.Build(&flowOpener{spec: s, file: f, memory: m, connect: connect})
}

// connector opens an MCP server of a flow.
type connector func(ctx context.Context, name string, s *flowfile.Server) (tool.Set, error)

// flowOpener has what a flow's file names, as the spec of its run says.
type flowOpener struct {
	spec    spec
	file    *flowfile.File
	memory  *memory.Store
	connect connector
}

func (o *flowOpener) Model(name string) (llm.Model, llm.Params, error) {
	m, ok := o.spec.Flow.Models[name]
	if !ok {
		return nil, llm.Params{}, fmt.Errorf("the record of the run has no model %q", name)
	}
	if opened := o.spec.Flow.models[name]; opened != nil {
		return opened, m.Params, nil
	}
	return silent(m.Model), m.Params, nil
}

func (o *flowOpener) Tools(word string, names []string) (tool.Set, error) {
	if o.spec.Sandbox == "none" { // all of them need one
		return nil, nil
	}
	return chooseTools(cmp.Or(word, strings.Join(names, ",")))
}

func (o *flowOpener) Memory() (*memory.Store, tool.Set, error) {
	if o.memory == nil {
		return nil, nil, nil
	}
	return o.memory, memorytool.New(o.memory, nil), nil
}

func (o *flowOpener) Told() flowfile.Told {
	m := o.spec.Memory
	told := flowfile.Told{Tokens: &m.Tokens, Tools: &m.Tools, Commit: &m.Commit}
	if of := o.file.Memory(); of != nil {
		told.Limit = of.Limit
	}
	return told
}

func (o *flowOpener) MaxSteps() int { return o.spec.MaxSteps }

func (o *flowOpener) Prices() (*llm.Prices, error) { return o.spec.table() }

// Policy has the rules of the run beside an agent's own.
func (o *flowOpener) Policy(p *flowfile.Policy) (tool.Policy, error) {
	if p == nil {
		p = &flowfile.Policy{}
	}
	return permits{p.Allow, p.Ask, p.Deny}.with(o.spec.Policy).policy(p.Else)
}

func (o *flowOpener) Server(ctx context.Context, name string, s *flowfile.Server) (tool.Set, error) {
	return o.connect(ctx, name, s)
}

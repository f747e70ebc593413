package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool/mcptool"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// mcpSpec is what a run keeps of its MCP servers, so that another process has the same.
type mcpSpec struct {
	Servers  []mcpServer `json:"servers"`
	Sandbox  bool        `json:"sandbox,omitempty"`  // their programs run there
	Sampling bool        `json:"sampling,omitempty"` // they may ask the run's model
}

// mcpFlags are the flags of a run's MCP servers.
type mcpFlags struct {
	servers []string
	mcpSpec
}

const mcpURLs = "a configured server's name, a URL, or 'COMMAND ARGS', also as NAME=URL and NAME='COMMAND ARGS'"

func (f *mcpFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.servers, "mcp", nil, "offer the tools of this MCP server (may be given again), or none of the default ones: "+mcpURLs+", or none")
	flags.BoolVar(&f.Sandbox, "mcp-sandbox", false, "run the commands of MCP servers in the sandbox, with its rights")
	flags.BoolVar(&f.Sampling, "mcp-sampling", false, "let MCP servers ask the run's model")
}

// choose finds the servers of the flags and the enabled ones, nil if there are none.
func (f mcpFlags) choose(a *app, sandboxURL string) (*mcpSpec, error) {
	names := f.servers
	if !slices.Contains(names, "none") {
		_, c, err := a.home()
		if err != nil {
			return nil, err
		}
		enabled, err := c.EnabledMCP(a.env)
		if err != nil {
			return nil, err
		}
		names = append(enabled, names...)
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "none" })
	s := f.mcpSpec
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		server, err := a.chooseServer(name, f.Sandbox)
		if err != nil {
			return nil, err
		}
		s.Servers = append(s.Servers, server)
	}
	switch {
	case len(s.Servers) == 0 && (f.Sandbox || f.Sampling):
		return nil, usage(&hinted{errors.New("--mcp-sandbox and --mcp-sampling are of no use without a server"), "--mcp names one"})
	case len(s.Servers) == 0:
		return nil, nil
	case f.Sandbox && sandboxURL == "none":
		return nil, usage(errors.New("--mcp-sandbox wants a sandbox, and --sandbox none says that there is none"))
	}
	return &s, nil
}

// rechooseMCP changes the servers of a recorded spec as --mcp says.
func (s *spec) rechooseMCP(a *app, servers []string) (err error) {
	if len(servers) == 0 {
		return a.examineServers(*s)
	}
	f := mcpFlags{servers: append(slices.Clone(servers), "none")} // the default ones are not the other run's
	if s.MCP != nil && !slices.Equal(servers, []string{"none"}) {
		f.Sandbox, f.Sampling = s.MCP.Sandbox, s.MCP.Sampling
	}
	s.MCP, err = f.choose(a, s.Sandbox)
	return err
}

// examineServers looks at the servers that a record names, before anything is begun. Where
// the working directory has brought the record it could name any program.
func (a *app) examineServers(s spec) error {
	if s.MCP == nil {
		return nil
	}
	brought, err := a.homeIsBrought()
	if err != nil {
		return err
	}
	if brought {
		err := fmt.Errorf("the run had the MCP server %s: the record in the working directory says so, and nothing else", s.MCP.Servers[0])
		return &hinted{err, "if you trust the folder, name it with OPENRATH_HOME; rath rerun --mcp names other servers, or none"}
	}
	_, c, err := a.home()
	if err != nil {
		return err
	}
	for _, server := range s.MCP.Servers {
		if _, err := server.open(c, a.env, s.MCP.Sandbox); err != nil {
			return err
		}
	}
	return nil
}

// equipped is an agent with the tools of MCP servers. They are listed within the run, so
// that its record has them, and a replay needs no server.
type equipped struct {
	Agent   *flow.Agent
	again   func() (*flow.Agent, error) // makes the same agent, to be given the tools
	servers []mcpServer
	connect dialer
}

// dialer opens a server of a run.
type dialer func(context.Context, mcpServer) (*mcptool.Client, error)

// equip makes the agent, with the tools of the run's servers if it has some.
func (s spec) equip(model llm.Model, m *memory.Store, connect dialer) (flow.Workflow, error) {
	a, err := s.agent(model, m)
	if err != nil || s.MCP == nil {
		return a, err
	}
	return &equipped{a, func() (*flow.Agent, error) { return s.agent(model, m) }, s.MCP.Servers, connect}, nil
}

// Fingerprint is what the servers add to that of the agent.
func (e *equipped) Fingerprint() string {
	text, _ := json.Marshal(e.servers) // plain values
	return string(text)
}

// Forward connects to the servers, and runs the agent with their tools.
func (e *equipped) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	agent, err := e.Connected(ctx)
	if err != nil {
		return s, err
	}
	return agent.Forward(ctx, s)
}

// connectable is a workflow with MCP servers. Whoever runs it many times connects it once.
type connectable interface {
	Connected(ctx context.Context) (flow.Workflow, error)
}

// Connected connects to the servers, and returns the agent with their tools. The servers
// stay open as long as the run goes on here.
func (e *equipped) Connected(ctx context.Context) (flow.Workflow, error) {
	clients := make([]*mcptool.Client, len(e.servers))
	g, gctx := errgroup.WithContext(ctx)
	for i, server := range e.servers {
		g.Go(func() (err error) {
			clients[i], err = e.connect(effect.Scope(gctx, fmt.Sprintf("mcp[%d]", i)), server)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	tools, err := mcptool.Join(clients...)
	if err != nil {
		return nil, &hinted{err, "--mcp NAME=URL, or NAME='COMMAND ARGS'"}
	}
	agent, err := e.again()
	if err != nil {
		return nil, err
	}
	agent.Tools = append(agent.Tools, tools...)
	return agent, nil
}

// closeAll closes clients, some of which may be nil, at the same time: a program has some
// seconds to end.
func closeAll(clients []*mcptool.Client) {
	var wg sync.WaitGroup
	for _, c := range clients {
		if c != nil {
			wg.Go(c.Close)
		}
	}
	wg.Wait()
}

// connectMCP opens a server of the run.
func (d *drive) connectMCP(ctx context.Context, server mcpServer) (*mcptool.Client, error) {
	_, c, err := d.a.home()
	if err != nil {
		return nil, err
	}
	found, err := server.open(c, d.a.env, d.spec.MCP.Sandbox)
	if err != nil {
		return nil, err
	}
	return d.clients.connect(ctx, found, d.mcpOptions(d.spec.MCP.Sandbox && len(found.Command) > 0, d.spec.MCP.Sampling))
}

// mcpOptions say how the run talks to a server.
func (d *drive) mcpOptions(inSandbox, sampling bool) *mcptool.Options {
	o := &mcptool.Options{
		Elicit: d.elicit, Resources: true, Prompts: true,
		Log: slog.New(complaints{w: d.a.err}),
	}
	if d.lines == 0 { // a batch tells of its lines
		o.Progress = d.view.progressed
	}
	if inSandbox {
		o.Sandbox = d.sandbox
	}
	if sampling {
		o.Sample = (&sampler{model: d.agent.Model, params: d.spec.Params, most: maxSamples * int64(max(d.lines, 1))}).sample
	}
	return o
}

// connectNothing is for a replay: the client is made of what is on record, and nothing is
// called.
func connectNothing(ctx context.Context, server mcpServer) (*mcptool.Client, error) {
	c, err := mcptool.Connect(ctx, server.public(), &mcptool.Options{Resources: true, Prompts: true})
	if err == nil {
		c.Close()
	}
	return c, err
}

// progressed shows how far a call has come.
func (v *view) progressed(_ context.Context, p mcptool.Progress) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.a.asJSON {
		v.begin()
		_ = v.a.writeJSON(progressEvent{"progress", p.Server, p.Tool, p.Call.ID, p.Done, p.Total, p.Message})
		return
	}
	far := fmt.Sprintf("%g", p.Done)
	if p.Total > 0 {
		far += fmt.Sprintf(" of %g", p.Total)
	}
	v.note("2", "progress", strings.TrimSpace(p.Server+" "+p.Tool+": "+far+" "+oneLine(p.Message, 100)))
}

// progressEvent is the line of NDJSON of a call's progress.
type progressEvent struct {
	Type    string  `json:"type"` // progress
	Server  string  `json:"server"`
	Tool    string  `json:"tool"`
	Call    string  `json:"call"`
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

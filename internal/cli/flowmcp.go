package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/mcptool"
)

// clients are the MCP servers of a run that are open.
type clients struct {
	mu   sync.Mutex
	open []*mcptool.Client
}

// connect opens a server, until all are closed.
func (c *clients) connect(ctx context.Context, server mcptool.Server, o *mcptool.Options) (*mcptool.Client, error) {
	client, err := mcptool.Connect(ctx, server, o)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, client)
	return client, nil
}

func (c *clients) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	closeAll(c.open)
	c.open = nil
}

// connectFlow opens a server of the run's flow and returns its tools. It stays open until
// the run ends here.
func (d *drive) connectFlow(ctx context.Context, name string, of *flowfile.Server) (tool.Set, error) {
	inSandbox := of != nil && of.InSandbox
	if inSandbox && d.sandbox == nil {
		return nil, &hinted{fmt.Errorf("mcp server %s runs in the sandbox, and there is none", name), "name one with --sandbox, or take sandbox: true out"}
	}
	server, err := d.flowServer(name, of)
	if err != nil {
		return nil, err
	}
	c, err := d.clients.connect(ctx, server, d.mcpOptions(inSandbox, false))
	if err != nil {
		return nil, err
	}
	return c.Tools(), nil
}

// flowServer is what a name stands for: in the file, or in the configuration as it was when
// the run began.
func (d *drive) flowServer(name string, of *flowfile.Server) (mcptool.Server, error) {
	if of == nil {
		_, c, err := d.a.home()
		if err != nil {
			return mcptool.Server{}, err
		}
		return d.spec.Flow.Servers[name].open(c, d.a.env, false)
	}
	dir := of.Dir
	if dir != "" && !of.InSandbox {
		dir = beside(filepath.Dir(d.spec.Flow.File), dir)
	}
	return mcptool.Server{
		Name: name, Command: of.Command, Env: of.Env, Dir: dir, URL: of.URL,
		Timeout: time.Duration(of.Timeout), IgnoreHints: of.IgnoreHints,
	}, nil
}

// replayFlowServer is for a replay: the client is made of what is on record.
func replayFlowServer(ctx context.Context, name string, _ *flowfile.Server) (tool.Set, error) {
	c, err := mcptool.Connect(ctx, mcptool.Server{Name: name, Command: []string{name}}, &mcptool.Options{Resources: true, Prompts: true})
	if err != nil {
		return nil, err
	}
	defer c.Close() // nothing is called
	return c.Tools(), nil
}

// configuredServers are the servers of a flow's file that the configuration has.
func configuredServers(a *app, f *flowfile.File) (map[string]mcpServer, error) {
	_, c, err := a.home()
	if err != nil {
		return nil, err
	}
	found := map[string]mcpServer{}
	for name, s := range f.Servers() {
		if s != nil {
			continue
		}
		m, err := c.MCP(name, a.env)
		if err != nil {
			return nil, err
		}
		if found[name], err = ofConfig(m, false); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// announceFlow says which programs a flow starts beside the sandbox, and whether its file is
// still what it was.
func (d *drive) announceFlow() {
	if d.spec.Flow == nil {
		return
	}
	d.a.warnChanged(d.spec.Flow)
	if d.a.asJSON {
		return
	}
	for _, line := range commandsOf(d.spec.Flow) {
		d.view.note("2", "mcp", line)
	}
}

// commandsOf are the servers that a flow's file brings along.
func commandsOf(f *flowSpec) (lines []string) {
	parsed, err := flowfile.Parse(f.File, []byte(f.Content))
	if err != nil {
		return nil // whoever builds it will tell
	}
	all := parsed.Servers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if s := all[name]; s != nil {
			url, _ := config.PublicURL(s.URL)
			lines = append(lines, name+": "+cmp.Or(strings.Join(s.Command, " "), url))
		}
	}
	return lines
}

// warnChanged says that a file is not any more what a run has on record of it.
func (a *app) warnChanged(f *flowSpec) {
	data, err := readBounded(f.File, flowfile.MaxSize+1)
	if err != nil {
		fmt.Fprintln(a.err, printable("note: "+f.File+" cannot be read any more: the run has its content on record"))
	} else if flowfile.DigestOf(data) != f.Digest {
		fmt.Fprintln(a.err, printable("note: "+f.File+" has changed: this is done with what the run has on record of it; rath run -f begins with what there is now"))
	}
}

// examineFlow looks at the flow that a record has. Where the working directory has brought
// the record, anybody may have written it, and its servers are programs.
func (a *app) examineFlow(s spec) error {
	brought, err := a.homeIsBrought()
	if err != nil || !brought || s.Flow == nil {
		return err
	}
	lines := commandsOf(s.Flow)
	if len(lines) == 0 {
		return nil
	}
	err = fmt.Errorf("the run starts the MCP server %s: the record in the working directory says so, and nothing else", lines[0])
	return &hinted{err, "if it may: rath run -f " + s.Flow.File}
}

// mcpInFile says how a flow's file does what the flags of its name do for one agent.
var mcpInFile = map[string]string{
	"mcp":          "name the server in the file, mcp: {NAME: {command: [PROGRAM, ...]}}, and in the agents that use it, mcp: [NAME]",
	"mcp-sandbox":  "say it of the server in the file: mcp: {NAME: {command: [PROGRAM, ...], sandbox: true}}",
	"mcp-sampling": "leave it out: the servers of a file ask no model",
}

// flowWorld knows what the names in a flow's file stand for on this machine.
type flowWorld struct {
	a      *app
	config *config.Config
	dir    string
}

// CheckServer looks in the configuration.
func (w *flowWorld) CheckServer(name string) error {
	_, err := w.config.MCP(name, w.a.env)
	if errors.Is(err, config.ErrNoServer) {
		return &hinted{fmt.Errorf("there is no MCP server %q in the file or in the configuration", name), "mcp: {" + name + ": {command: [PROGRAM, ...]}}"}
	}
	return err
}

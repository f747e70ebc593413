package cli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/mcptool"
	"github.com/spf13/cobra"
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Look at MCP servers, and be one",
		Long: `MCP servers bring tools of others to agents: rath run --mcp. A server is a program or a
URL; the configuration can have it under a name, with what is secret:

  rath config set mcp.servers.files.command '["npx","-y","@modelcontextprotocol/server-filesystem","."]'
  rath config set mcp.servers.far.url https://mcp.example/mcp
  rath config set mcp.servers.far.bearer_token sk-...
  rath config set mcp.default_enabled '["files"]'

The keys of a server are command, env, cwd, url, headers, bearer_token, timeout (seconds) and
ignore_hints (not to believe what it says of its tools' effects). Those of
mcp.default_enabled are there in every run.`,
	}
	cmd.AddCommand(a.mcpLsCommand(), a.mcpServeCommand())
	return cmd
}

func (a *app) mcpLsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls [SERVER]",
		Short: "List the configured MCP servers, or the tools of one",
		Long: `List the configured MCP servers, or the tools of one, which is asked for them. SERVER is
` + mcpURLs + `.`,
		Example: "  rath mcp ls\n  rath mcp ls files\n  rath mcp ls 'npx -y @modelcontextprotocol/server-everything'",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.listServers()
			}
			return a.listServerTools(cmd.Context(), args[0])
		},
	}
}

// serverRow is a configured server.
type serverRow struct {
	Name    string   `json:"name"`
	Command []string `json:"command,omitempty"`
	URL     string   `json:"url,omitempty"` // without what may be secret
	Enabled bool     `json:"enabled"`
	Problem string   `json:"problem,omitempty"`
}

func (r serverRow) cells() []string {
	state := ""
	if r.Enabled {
		state = "enabled"
	}
	if r.Problem != "" {
		state = "problem: " + r.Problem
	}
	return []string{r.Name, oneLine(strings.Join(append(slices.Clone(r.Command), r.URL), " "), 80), state}
}

func (a *app) listServers() error {
	_, c, err := a.home()
	if err != nil {
		return err
	}
	enabled, err := c.EnabledMCP(a.env)
	if err != nil {
		return err
	}
	names := c.MCPServers()
	for _, name := range enabled {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var rows []serverRow
	for _, name := range names {
		r := serverRow{Name: name, Enabled: slices.Contains(enabled, name)}
		m, err := c.MCP(name, a.env)
		if err != nil {
			r.Problem = err.Error()
		}
		r.Command = m.Command
		r.URL, _ = config.PublicURL(m.URL)
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.err, "no MCP servers are configured: rath mcp --help")
	}
	return list(a, rows)
}

// toolRow is a tool of a server.
type toolRow struct {
	Name        string       `json:"name"`
	Class       effect.Class `json:"class"` // what a call does
	Description string       `json:"description,omitempty"`
}

func (r toolRow) cells() []string {
	return []string{r.Name, fmt.Sprint(r.Class), oneLine(r.Description, 100)}
}

func (a *app) listServerTools(ctx context.Context, name string) error {
	server, err := a.chooseServer(name, false)
	if err != nil {
		return err
	}
	_, c, err := a.home()
	if err != nil {
		return err
	}
	found, err := server.open(c, a.env, false)
	if err != nil {
		return err
	}
	client, err := mcptool.Connect(ctx, found, &mcptool.Options{Resources: true, Prompts: true, Log: slog.New(complaints{w: a.err})})
	if err != nil {
		return err
	}
	defer client.Close()
	if text := client.Instructions(); text != "" && !a.asJSON {
		fmt.Fprintln(a.err, printable(client.Name()+" says: "+oneLine(text, 300)))
	}
	return list(a, rowsOf(client.Tools()))
}

func rowsOf(tools tool.Set) []toolRow {
	rows := make([]toolRow, len(tools))
	for i, t := range tools {
		rows[i] = toolRow{t.Name, t.Class, t.Description}
	}
	return rows
}

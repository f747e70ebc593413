package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/internal/mcpserver"
	"github.com/spf13/cobra"
)

// serveFlags say what a server offers, and to whom.
type serveFlags struct {
	run              runFlags
	models           []string
	http, tokenFile  string
	hosts            []string
	allowRun, writes bool
	memory           string
	flows            serveFlows
}

func (a *app) mcpServeCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Offer sessions, notes and runs to other programs over MCP",
		Long: `Serve is an MCP server. Other programs list, show, compare and replay sessions by it, and
find notes; sessions are also resources, rath://session/ID, and so are notes. Nothing is
changed unless flags allow it: with --allow-write branches and notes are added, with
--allow-run there is a tool that gives the agent of rath run a message, and with -f one that
gives the workflow of a file one. The flags say what these may: calls that can change
something are refused without --yes.

It speaks over stdin and stdout, or with --http over streamable HTTP under /mcp. Others than
this machine reach it only with a token, which stands in RATH_MCP_TOKEN or in a file.`,
		Example: `  rath mcp serve
  rath mcp serve --allow-run --model openai:gpt-5.5 --tools read
  rath mcp serve -f review.yaml -f translate.yaml
  RATH_MCP_TOKEN=... rath mcp serve --http :8080 --host rath.example`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := errors.Join(f.check(cmd.Flags().Changed), f.flows.read(a, cmd.Flags())); err != nil {
				return usageOf(cmd, err)
			}
			return a.serve(cmd.Context(), f)
		},
	}
	f.flags(cmd)
	return cmd
}

func (f *serveFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "serve over HTTP at this address, such as 127.0.0.1:8080; without a host only this machine reaches it")
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token that clients must bring (default: RATH_MCP_TOKEN)")
	flags.StringArrayVar(&f.hosts, "host", nil, "a name by which clients reach the server (may be given again)")
	flags.BoolVar(&f.writes, "allow-write", false, "offer what adds branches and notes")
	flags.BoolVar(&f.allowRun, "allow-run", false, "offer runs of the agent")
	flags.StringArrayVarP(&f.flows.files, "file", "f", nil, "offer the workflow of this file of YAML as the tool run_NAME, by the file's name (may be given again)")
	flags.StringVar(&f.memory, "memory", "", "the memory: "+memoryURLs)
	flags.StringArrayVar(&f.models, "allow-model", nil, "another model that a client may name for a run (may be given again)")
	flags.StringVar(&f.run.model, "model", "", "model of the runs, as for rath run")
	flags.StringVar(&f.run.baseURL, "base-url", "", "address of the model's server")
	flags.StringVar(&f.run.system, "system", "", "system prompt of the runs, or @FILE")
	flags.StringVar(&f.run.tools, "tools", "read", "tools that a run may have: all, read, none, or names with commas")
	flags.StringVar(&f.run.sandbox, "sandbox", "local:.", "where the tools run: "+sandboxURLs)
	flags.IntVar(&f.run.maxSteps, "max-steps", 32, "rounds of tool calls of a run")
	flags.DurationVar(&f.run.timeout, "timeout", 10*time.Minute, "end a run after this time (0: never)")
	flags.BoolVar(&f.run.consent.yes, "yes", false, "let tools change things without asking")
	flags.BoolVar(&f.run.snapshots, "snapshots", true, "keep the workspace's files as they are before and after each call that can change them")
	f.run.rules.flags(cmd)
	f.run.mcp.flags(cmd)
}

func (f *serveFlags) check(given func(string) bool) error {
	switch {
	case f.http == "" && (f.tokenFile != "" || len(f.hosts) > 0):
		return errors.New("--token-file and --host are for --http")
	case given("http") && f.http == "":
		return errors.New("--http is empty: leave it out, or give it an address")
	}
	f.run.memory.given = func(string) bool { return false }
	return f.run.check(given)
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	log := slog.New(complaints{w: a.err})
	b := &backend{app: a, flags: f, turn: make(chan struct{}, maxServedRuns), life: ctx}
	s := mcpserver.New(b, &mcpserver.Options{Run: f.allowRun, Write: f.writes, Flows: f.flows.offers(), Version: version(), Log: log})
	if f.http != "" {
		return a.serveHTTP(ctx, s, b, log)
	}
	err := s.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(a.in), Writer: closing{a.out}})
	if ctx.Err() != nil || errors.Is(err, io.EOF) {
		return nil // the client or the user has had enough
	}
	return err
}

// closing is stdout, which is not closed: whoever writes last finds out how it went.
type closing struct{ io.Writer }

func (closing) Close() error { return nil }

// tokenVariable holds the token.
const tokenVariable = "RATH_MCP_TOKEN"

func (a *app) serveHTTP(ctx context.Context, s *mcp.Server, b *backend, log *slog.Logger) error {
	f := b.flags
	token, err := a.token(f.tokenFile)
	if err != nil {
		return err
	}
	address := f.http
	if strings.HasPrefix(address, ":") && token == "" {
		address = "127.0.0.1" + address
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return usage(&hinted{fmt.Errorf("--http: %w", err), "it looks like 127.0.0.1:8080, with a port that is free"})
	}
	defer l.Close()
	h, err := mcpserver.Handler(s, l.Addr(), mcpserver.Access{Token: token, Hosts: f.hosts, Log: log})
	if errors.Is(err, mcpserver.ErrNoToken) {
		return usage(&hinted{fmt.Errorf("--http %s: %w", f.http, err), "set " + tokenVariable + ", or serve at 127.0.0.1"})
	}
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) }, // with what the command's telemetry put into it
	}
	fmt.Fprintf(a.err, "serving at http://%s/mcp\n", l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		b.leave(server)
		return nil
	}
}

// How long a server that is told to end waits: together with lastFlush less than grace.
const (
	lastRuns    = 2 * time.Second        // for its runs, which are told to end too
	lastAnswers = 500 * time.Millisecond // for their answers to be on their way
)

// leave ends a server when its runs have come to their ends. Clients that only listen are
// cut off.
func (b *backend) leave(server *http.Server) {
	runs, cancel := context.WithTimeout(context.Background(), lastRuns)
	defer cancel()
	b.settle(runs)
	answers, cancel := context.WithTimeout(context.Background(), lastAnswers)
	defer cancel()
	if server.Shutdown(answers) != nil {
		_ = server.Close() // nobody is waited for any more
	}
}

// token is what clients must know.
func (a *app) token(file string) (string, error) {
	if file == "" {
		given := a.env(tokenVariable)
		token := strings.TrimSpace(given)
		if token == "" && given != "" {
			return "", usage(fmt.Errorf("%s has nothing but blanks", tokenVariable))
		}
		return token, nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", usage(fmt.Errorf("--token-file: %w", err))
	}
	token := strings.TrimSpace(string(data))
	if token == "" {
		return "", usage(fmt.Errorf("--token-file %s is empty", file))
	}
	return token, nil
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/spf13/cobra"
)

// runFlags are the settings of one run.
type runFlags struct {
	model, baseURL, system, tools, sandbox, session string
	consent                                         consent
	maxSteps                                        int
	timeout                                         time.Duration
	rules                                           rules
	budget                                          budgetFlags
	permits                                         permits
	snapshots                                       bool
	memory                                          memoryFlags
	images                                          []string
	mcp                                             mcpFlags
	file                                            string
	flow                                            *flowfile.File // that file; nil: there is one agent
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] MESSAGE...",
		Short: "Give an agent a message and run it to its answer",
		Long: `Run gives an agent a message and runs it to its answer.

The answer goes to stdout, nothing else does: on a terminal piece by piece with all
that the model says, otherwise the final answer once it is whole. Tool calls and one
last line (tokens, cost, time, run, session) go to stderr.

Tools that only read run at once. A tool that can change something asks on a terminal,
and is refused where there is none, unless --yes is given. With --ask-later the run is
put down instead (exit code 6) until somebody has decided. --allow, --ask and --deny say
it for some calls: what is denied is refused and what is to be asked about is asked about,
--yes or not; what is allowed needs no consent. rath help policies tells more.

A run whose budget is spent ends with exit code 5, and its session is kept as far as it
got. What is resumed has spent what it had spent; rath help budgets tells more.

Commands are isolated as well as this machine can, without a network and without your
home: rath help sandboxes says how to give them more.

All of it is kept as it happens: rath log shows the sessions, rath runs the runs. A run
that was interrupted or killed goes on with rath resume.`,
		Example: `  rath run "Count the words in README.md"
  rath run --model openai:gpt-5.5 --yes "Fix the failing test"
  git diff | rath run --system "Review this change." -
  rath run --session @ "And the lines?"
  rath run --ask-later "Tidy up the notes"
  rath run --budget-cost 0.50 --allow 'run_shell_command:go test *' "Fix the failing test"
  rath run -f review.yaml "Review the last change"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			err := f.useFlow(a, cmd.Flags())
			if err == nil {
				err = f.check(cmd.Flags().Changed)
			}
			if err != nil {
				return usageOf(cmd, err)
			}
			return a.runAgent(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.model, "model", "", "model as a URL: offline:, openai:NAME, anthropic:NAME, scripted:FILE; or a configured provider's name\n(default: config, then environment, then offline:)")
	flags.StringVar(&f.baseURL, "base-url", "", "address of the model's server")
	flags.StringVar(&f.system, "system", "", "system prompt, or @FILE")
	flags.StringVar(&f.tools, "tools", "all", "tools to offer: all, read, none, or names with commas")
	flags.StringVar(&f.sandbox, "sandbox", "local:.", "where the tools run: "+sandboxURLs)
	flags.StringVar(&f.session, "session", "", "id of a session to continue, or its beginning; @ is the newest, ID@N its first N chunks")
	f.consent.flags(cmd)
	flags.IntVar(&f.maxSteps, "max-steps", flow.DefaultMaxSteps, "rounds of tool calls")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the run after this time (0: never)")
	f.permits.flags(cmd)
	f.budget.flags(cmd)
	f.rules.flags(cmd)
	flags.BoolVar(&f.snapshots, "snapshots", true, "keep the workspace's files as they are before and after each call that can change them")
	f.memory.flags(cmd)
	flags.StringVarP(&f.file, "file", "f", "", "run the agents and workflows of this file of YAML: rath check FILE looks it over")
	f.mcp.flags(cmd)
	flags.StringArrayVar(&f.images, "image", nil, "show the model this image with the message (may be given again)")
	return cmd
}

// check refuses what no run can be meant by. A flag that is given and empty is most
// often a variable that is not set.
func (f runFlags) check(given func(flag string) bool) error {
	for _, flag := range []struct{ name, value string }{
		{"model", f.model}, {"base-url", f.baseURL}, {"sandbox", f.sandbox}, {"session", f.session}, {"memory", f.memory.Memory},
	} {
		if given(flag.name) && flag.value == "" {
			return fmt.Errorf("--%s is empty: leave it out, or give it a value", flag.name)
		}
	}
	switch {
	case f.file != "" && len(f.mcp.servers) > 0:
		return errors.New("--mcp is for one agent, and --file names the servers of its own")
	case f.maxSteps < 1:
		return errors.New("--max-steps must be at least 1")
	case f.timeout < 0:
		return fmt.Errorf("--timeout %v is less than nothing", f.timeout)
	}
	if slices.Contains(f.mcp.servers, "") {
		return errors.New("--mcp is empty: leave it out, or give it a value")
	}
	_, err := f.permits.rules()
	return cmp.Or(err, f.memory.check(), f.budget.check(), f.rules.check())
}

func (a *app) runAgent(ctx context.Context, f runFlags, args []string) error {
	message, err := a.message(ctx, args)
	if err != nil {
		return err
	}
	home, c, err := a.home()
	if err != nil {
		return err
	}
	models, err := f.choose(a, c)
	if err != nil {
		return err
	}
	s, err := f.spec(a, models.first(), home)
	if err != nil {
		return err
	}
	if f.flow != nil {
		if err = s.useFlow(f.flow, models); err == nil {
			s.Flow.Servers, err = configuredServers(a, f.flow)
		}
	} else {
		s.MCP, err = f.mcp.choose(a, s.Sandbox)
	}
	if err == nil {
		err = f.permits.check(s.MCP == nil && (f.flow == nil || len(f.flow.Servers()) == 0))
	}
	if err != nil {
		return err
	}
	model, err := s.openCast(models, none, nil)
	if err != nil {
		return err
	}
	return a.useRecords(ctx, adding, func(r *records) error { // better now than after the model was paid
		in, err := f.input(ctx, r, message)
		if err != nil {
			return err
		}
		if !f.rules.given("sandbox") {
			dir, err := r.branchDir(ctx, in)
			if err != nil {
				return err
			}
			if dir != "" {
				s.Sandbox = "local:" + dir
			}
		}
		d, err := a.newDrive(ctx, r, s, model, f.consent.newRun)
		if err != nil {
			return err
		}
		defer d.close()
		d.alone = d.who.decider == nil && !f.consent.askLater
		d.announce()
		return d.start(ctx, in, f.timeout)
	})
}

// maxMessage is far more than any model reads.
const maxMessage = 16 << 20

// message joins the arguments; - is stdin.
func (a *app) message(ctx context.Context, args []string) (string, error) {
	var parts []string
	for _, arg := range args {
		if arg == "-" {
			text, err := a.stdin(ctx, "message")
			if err != nil {
				return "", err
			}
			arg = text
		}
		parts = append(parts, arg)
	}
	message := strings.TrimRight(strings.Join(parts, " "), "\n")
	switch {
	case strings.TrimSpace(message) == "":
		return "", usage(&hinted{errors.New("the message is empty"), `give it as an argument, rath run "Count the words in README.md", or - for stdin`})
	case len(message) > maxMessage:
		return "", usage(&hinted{fmt.Errorf("the message is longer than %d MiB", maxMessage>>20), fileInstead})
	case !utf8.ValidString(message):
		return "", usage(&hinted{errors.New("the message is not text in UTF-8"), fileInstead})
	}
	return message, nil
}

const fileInstead = "name a file of the workspace in the message: the agent can read it"

// stdin reads stdin to its end, or to that of the run: a read cannot be asked to give up.
func (a *app) stdin(ctx context.Context, what string) (string, error) {
	var text strings.Builder
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&text, io.LimitReader(a.in, maxMessage+1))
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			return "", fmt.Errorf("read the %s from stdin: %w", what, err)
		}
		return text.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("interrupted: read the %s from stdin: %w", what, ctx.Err())
	}
}

// input is the session to run on: a new one or a continued one.
func (f runFlags) input(ctx context.Context, r *records, message string) (session.Session, error) {
	shown, err := images(f.images)
	if err != nil {
		return session.Session{}, err
	}
	user := session.User(append([]session.Part{session.Text(message)}, shown...)...)
	if f.session == "" {
		return session.New(user), nil
	}
	named, err := r.session(ctx, f.session)
	if err != nil {
		return session.Session{}, err
	}
	before, err := named.prefix()
	if err != nil {
		return before, err
	}
	var chunks []session.Chunk
	for _, call := range before.Transcript().OpenCalls() {
		chunks = append(chunks, tool.Interrupted(call))
	}
	return before.Append(append(chunks, user)...), nil
}

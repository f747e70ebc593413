package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/openrath-go/rath/tool"
	"github.com/spf13/cobra"
)

// runFlags are the settings of one run.
type runFlags struct {
	model, baseURL, system, tools, sandbox, session string
	yes                                             bool
	maxSteps                                        int
	timeout                                         time.Duration
	limits                                          sandbox.Limits
}

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] MESSAGE...",
		Short: "Give an agent a message and run it to its answer",
		Long: `Run gives an agent a message and runs it to its answer.

The answer goes to stdout, nothing else does: on a terminal piece by piece with all
that the model says, otherwise the final answer once it is whole. Tool calls and one
last line (tokens, cost, time, session) go to stderr.

Tools that only read run at once. A tool that can change something asks on a terminal,
and is refused where there is none, unless --yes is given.`,
		Example: `  rath run "Count the words in README.md"
  rath run --model openai:gpt-5.5 --yes "Fix the failing test"
  git diff | rath run --system "Review this change." -
  rath run --session @ "And the lines?"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd.Flags().Changed); err != nil {
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
	flags.StringVar(&f.sandbox, "sandbox", "local:.", "where the tools run: local:DIR, or none")
	flags.StringVar(&f.session, "session", "", "id of a session to continue, or its beginning; @ is the last one")
	flags.BoolVar(&f.yes, "yes", false, "let tools change things without asking")
	flags.IntVar(&f.maxSteps, "max-steps", flow.DefaultMaxSteps, "rounds of tool calls")
	flags.DurationVar(&f.timeout, "timeout", 0, "end the run after this time (0: never)")
	limitFlags(cmd, &f.limits)
	return cmd
}

// check refuses what no run can be meant by. A flag that is given and empty is most
// often a variable that is not set.
func (f runFlags) check(given func(flag string) bool) error {
	for _, flag := range []struct{ name, value string }{
		{"model", f.model}, {"base-url", f.baseURL}, {"sandbox", f.sandbox}, {"session", f.session},
	} {
		if given(flag.name) && flag.value == "" {
			return fmt.Errorf("--%s is empty: leave it out, or give it a value", flag.name)
		}
	}
	switch {
	case f.maxSteps < 1:
		return errors.New("--max-steps must be at least 1")
	case f.timeout < 0:
		return fmt.Errorf("--timeout %v is less than nothing", f.timeout)
	case f.limits.CPU < 0:
		return fmt.Errorf("--max-cpu %v is less than nothing", f.limits.CPU)
	}
	return nil
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
	chosen, err := choose(c, a.env, f.model, f.baseURL)
	if err != nil {
		return err
	}
	agent, err := f.agent(chosen)
	if err != nil {
		return err
	}
	sessions := jsonl.Dir(filepath.Join(home, "sessions"))
	if err := sessions.Prepare(); err != nil {
		return err // better now than after the model was paid
	}
	in, err := f.input(sessions, message)
	if err != nil {
		return err
	}
	sb, err := f.openSandbox(ctx, c)
	if err != nil {
		return err
	}
	if sb != nil {
		a.sandbox.Store(sb)
		defer sb.Close()
	}
	if chosen.scheme == "offline" {
		fmt.Fprintln(a.err, offline.Notice)
	}
	return a.forward(ctx, f, agent, in.To(sb), sessions)
}

// maxMessage is far more than any model reads.
const maxMessage = 16 << 20

// message joins the arguments; - is stdin.
func (a *app) message(ctx context.Context, args []string) (string, error) {
	var parts []string
	for _, arg := range args {
		if arg == "-" {
			text, err := a.stdin(ctx)
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
		return "", usage(errors.New("the message is empty"))
	case len(message) > maxMessage:
		return "", usage(&hinted{fmt.Errorf("the message is longer than %d MiB", maxMessage>>20), fileInstead})
	case !utf8.ValidString(message):
		return "", usage(&hinted{errors.New("the message is not text in UTF-8"), fileInstead})
	}
	return message, nil
}

const fileInstead = "name a file of the workspace in the message: the agent can read it"

// stdin reads stdin to its end, or to that of the run: a read cannot be asked to give up.
func (a *app) stdin(ctx context.Context) (string, error) {
	var text strings.Builder
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&text, io.LimitReader(a.in, maxMessage+1))
		read <- err
	}()
	select {
	case err := <-read:
		if err != nil {
			return "", fmt.Errorf("read the message from stdin: %w", err)
		}
		return text.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("interrupted: read the message from stdin: %w", ctx.Err())
	}
}

func (f runFlags) agent(chosen choice) (*flow.Agent, error) {
	model, err := chosen.open()
	if err != nil {
		return nil, err
	}
	tools, err := chooseTools(f.tools)
	if err != nil {
		return nil, err
	}
	if f.sandbox == "none" {
		tools = nil // all of them need one
	}
	prompt, err := textOrFile(f.system)
	if err != nil {
		return nil, err
	}
	return &flow.Agent{Prompt: prompt, Model: model, Params: chosen.params(), Tools: tools, MaxSteps: f.maxSteps}, nil
}

// openSandbox opens where the tools run, with the user's keys out of their reach.
func (f runFlags) openSandbox(ctx context.Context, c *config.Config) (*sandbox.Sandbox, error) {
	if err := local.ProtectEnviron(); err != nil {
		return nil, err
	}
	return openSandbox(ctx, f.sandbox, &local.Options{Policy: sandbox.Policy{Limits: f.limits}, Hidden: c.Files()})
}

// input is the session to run on: a new one or a continued one.
func (f runFlags) input(sessions jsonl.Dir, message string) (session.Session, error) {
	user := session.User(session.Text(message))
	in := session.New(user)
	if f.session != "" {
		before, err := load(sessions, f.session)
		if err != nil {
			return in, err
		}
		var chunks []session.Chunk
		for _, call := range before.Transcript().OpenCalls() {
			chunks = append(chunks, tool.Interrupted(call))
		}
		in = before.Append(append(chunks, user)...)
	}
	return in, nil
}

// forward runs the agent, records what happens, and shows it.
func (a *app) forward(ctx context.Context, f runFlags, agent *flow.Agent, in session.Session, sessions jsonl.Dir) error {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	rec := &recorder{dir: sessions}
	view := a.newView()
	ctx = tool.WithApprover(ctx, a.approver(f.yes, view))
	ctx = flow.Observe(ctx, func(e flow.Event) {
		rec.observe(e)
		view.observe(e)
	})
	begin := time.Now()
	out, err := agent.Forward(ctx, in)
	answered := err == nil // an answer is shown even if it could not be kept
	if recErr := rec.err(); recErr != nil {
		err = errors.Join(err, recErr)
	}
	view.finish(out, time.Since(begin), answered, err)
	if errors.Is(err, context.Canceled) {
		err = &hinted{fmt.Errorf("interrupted: %w", err), "to continue: rath run --session " + out.ID().String() + " MESSAGE"}
	}
	if err != nil && a.asJSON {
		return told{err}
	}
	return err
}

// approver decides about the calls that can change something.
func (a *app) approver(yes bool, view *view) tool.Approver {
	switch {
	case yes:
		return tool.AllowAll
	case a.terminal.in && !a.asJSON:
		if out := a.prompt(view); out != nil {
			return (&asker{in: a.in, out: out}).ask
		}
	}
	return func(_ context.Context, t *tool.Tool, _ session.Call) (tool.Decision, error) {
		reason := t.Name + " can change something, and there is no terminal to ask on; the user can allow it with --yes"
		if t.Class == effect.ReadOnly {
			reason = t.Name + " needs an approval, and there is no terminal to ask on; the user can allow it with --yes"
		}
		return tool.Decision{Reason: reason}, nil
	}
}

// Package cli is the rath command. It is the one place where drivers are wired
// together.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/sandbox"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// app is one invocation of the command.
type app struct {
	in       io.Reader
	out      *output
	err      io.Writer
	env      config.Env
	asJSON   bool
	color    string
	terminal terminals
	sandbox  atomic.Pointer[sandbox.Sandbox] // of the run, to be closed whatever happens
}

// terminals says which streams are terminals.
type terminals struct{ in, out, err bool }

// Main runs the command with the program's own streams and returns its exit code.
func Main(args []string) int {
	isTerminal := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	a := &app{
		in: os.Stdin, out: &output{w: os.Stdout}, err: os.Stderr, env: os.Getenv,
		terminal: terminals{isTerminal(os.Stdin), isTerminal(os.Stdout), isTerminal(os.Stderr)},
	}
	return a.run(a.interruptible(signals(), os.Exit), args)
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	var telemetry *exporting
	if cmd, _, _ := root.Find(args); cmd.Name() != "doctor" { // which looks, and sends nothing
		ctx, telemetry = a.startTelemetry(ctx)
	}
	err := a.out.lostWith(root.ExecuteContext(ctx))
	if err != nil {
		a.asJSON = a.asJSON || errors.As(err, new(*usageError)) && wantsJSON(args)
		a.report(err)
	}
	a.stopTelemetry(telemetry)
	return exitCode(err)
}

// wantsJSON looks for --json where wrong flags have kept it from being read.
func wantsJSON(args []string) (wants bool) {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--json="); ok {
			wants, _ = strconv.ParseBool(value) // wrong is no
		} else if arg == "--json" {
			wants = true
		}
	}
	return wants
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rath",
		Short: "Run agents over sessions that can be traced, branched and trusted",
		Long: `Rath runs agents over sessions that can be traced, branched and trusted.

Try it: rath run "Count the words in README.md"
It needs no key: without a configured model the built-in offline one answers.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetIn(a.in)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(a.help(root.HelpFunc()))
	root.PersistentFlags().BoolVar(&a.asJSON, "json", false, "write JSON to stdout, errors too")
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "color: auto, always or never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return a.checkColor() }
	root.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "sessions", Title: "Sessions:"})
	group(root, "runs", a.runCommand(), a.batchCommand(), a.checkCommand(), a.summaryCommand(), a.resumeCommand(), a.replayCommand(), a.rerunCommand(), a.psCommand(), a.runsCommand())
	group(root, "sessions", a.lsCommand(), a.showCommand(), a.logCommand(), a.diffCommand(), a.forkCommand(), a.detachCommand(), a.mergeCommand(),
		a.exportCommand(), a.verifyCommand(), a.importCommand(), a.gcCommand())
	root.AddCommand(a.memoryCommand(), a.mcpCommand(), a.sandboxesCommand(), a.doctorCommand(), a.configCommand(), a.versionCommand(), exitCodesTopic(), budgetsTopic(), policiesTopic())
	strict(root)
	a.versionFlag(root)
	return root
}

func group(root *cobra.Command, id string, cmds ...*cobra.Command) {
	for _, cmd := range cmds {
		cmd.GroupID = id
		root.AddCommand(cmd)
	}
}

func (a *app) checkColor() error {
	switch a.color {
	case "auto", "always", "never":
		return nil
	}
	return usage(errors.New("--color must be auto, always or never"))
}

// colored reports whether stderr takes color, coloredOut whether stdout does.
func (a *app) colored() bool    { return a.coloredOn(a.terminal.err) }
func (a *app) coloredOut() bool { return a.coloredOn(a.terminal.out) }

func (a *app) coloredOn(terminal bool) bool {
	return a.color == "always" || a.color == "auto" && terminal && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
}

// home returns the OpenRath home and its configuration.
func (a *app) home() (string, *config.Config, error) {
	dir, _, err := config.Home(a.env)
	if err != nil {
		return "", nil, err
	}
	c, err := config.Load(dir)
	return dir, c, err
}

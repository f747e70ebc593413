package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func exitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: fmt.Sprintf(`The exit codes of rath:

  %-4d done
  %-4d failed
  %-4d wrong usage: an unknown command, flag or argument
  %-4d a check failed: a replay diverged, or a dossier is not what was written
  %-4d a server did not accept the key, or there is none
  %-4d the budget of a run is spent; what was done is kept
  %-4d a run waits for somebody: to decide (rath runs decide), or to settle what may
       have happened (rath runs settle); then rath resume
  %-4d interrupted with Ctrl-C, or told to end; a run goes on with rath resume
  %-4d whoever read stdout has gone, such as a pager`,
			exitOK, exitFailed, exitUsage, exitCheck, exitAuth, exitBudget, exitReview, exitInterrupted, exitUnread),
	}
}

// strict makes usage errors of wrong arguments, also where cobra's own commands would
// show help and call it a success.
func strict(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Run, help.RunE = nil, helpOn
	checkArgs(root)
}

// checkArgs sets the checks of a command and of those below it. A command that has
// others below it takes no arguments, and shows its help.
func checkArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args = subcommandOnly
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return usageOf(cmd, check(cmd, args)) }
	}
	for _, sub := range cmd.Commands() {
		checkArgs(sub)
	}
}

// help shows the help of a command, with --json as an object.
func (a *app) help(show func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		if !a.asJSON {
			show(cmd, args)
			return
		}
		var text strings.Builder
		cmd.SetOut(&text)
		show(cmd, args)
		cmd.SetOut(nil)
		_ = a.writeJSON(map[string]string{"command": cmd.CommandPath(), "help": text.String()}) // a.out keeps the error
	}
}

// helpOn is the help command.
func helpOn(cmd *cobra.Command, args []string) error {
	target, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 {
		err = subcommandOnly(target, rest)
	}
	if err != nil {
		return usageOf(cmd, fmt.Errorf("there is no command or topic %q%s", strings.Join(args, " "), nearMiss(target, args[len(args)-1])))
	}
	target.InitDefaultHelpFlag()
	return target.Help()
}

// subcommandOnly refuses arguments of a command that only has others below it.
func subcommandOnly(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("there is no command %q%s", args[0], nearMiss(cmd, args[0]))
}

// nearMiss suggests what may have been meant.
func nearMiss(cmd *cobra.Command, name string) string {
	cmd.SuggestionsMinimumDistance = 2 // cobra's default, which is not set before its own use
	near := cmd.SuggestionsFor(name)
	for _, topic := range cmd.Commands() {
		if topic.IsAdditionalHelpTopicCommand() && strings.HasPrefix(topic.Name(), name) {
			near = append(near, topic.Name())
		}
	}
	if len(near) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(near, " or ") + "?"
}

// flagError suggests what flag may have been meant.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return usageOf(cmd, err)
	}
	names := &cobra.Command{} // cobra compares names of commands alone
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names.AddCommand(&cobra.Command{Use: "--" + f.Name, Run: func(*cobra.Command, []string) {}})
		}
	}
	cmd.Flags().VisitAll(add)
	return usageOf(cmd, fmt.Errorf("%w%s", err, nearMiss(names, "--"+unknown.GetSpecifiedName())))
}

// usageOf is a mistake in a command's arguments; its hint leads to the command's help.
func usageOf(cmd *cobra.Command, err error) error {
	if err == nil || errors.As(err, new(*usageError)) {
		return err
	}
	if name, ok := strings.CutPrefix(cmd.CommandPath(), cmd.Root().Name()+" "); ok {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return usage(&hinted{err, cmd.CommandPath() + " --help"})
}

// atMostOne is the PreRunE of a command that takes one of these flags and not more.
func atMostOne(flags ...string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if given := changed(cmd, flags); len(given) > 1 {
			return usageOf(cmd, fmt.Errorf("--%s and --%s cannot be together", given[0], given[1]))
		}
		return nil
	}
}

// exactlyOne is that of one that needs one of them.
func exactlyOne(flags ...string) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if len(changed(cmd, flags)) == 0 {
			return usageOf(cmd, fmt.Errorf("one of --%s is needed", strings.Join(flags, ", --")))
		}
		return atMostOne(flags...)(cmd, args)
	}
}

func changed(cmd *cobra.Command, flags []string) (given []string) {
	for _, f := range flags {
		if cmd.Flags().Changed(f) {
			given = append(given, f)
		}
	}
	return given
}

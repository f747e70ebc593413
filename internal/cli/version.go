package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

// versionFlag lets rath --version say the same. Cobra's own flag knows no JSON.
func (a *app) versionFlag(root *cobra.Command) {
	wanted := root.Flags().BoolP("version", "v", false, "show the version")
	otherwise := root.RunE
	root.RunE = func(cmd *cobra.Command, args []string) error {
		if *wanted {
			return a.printVersion()
		}
		return otherwise(cmd, args)
	}
}

func (a *app) printVersion() error {
	if a.asJSON {
		return a.writeJSON(map[string]string{"version": version()})
	}
	_, err := fmt.Fprintln(a.out, "rath", version())
	return err
}

// version is what the build knows of itself.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

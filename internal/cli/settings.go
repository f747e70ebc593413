package cli

import (
	"errors"
	"fmt"

	"github.com/openrath-go/rath/internal/config"
	"github.com/spf13/cobra"
)

func (a *app) configCommand() *cobra.Command {
	var origin bool
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Read and change the settings in the OpenRath home",
	}
	cmd.PersistentFlags().BoolVar(&origin, "origin", false, "also show where a value comes from")
	cmd.AddCommand(
		&cobra.Command{
			Use: "get KEY", Short: "Show a setting", Args: cobra.ExactArgs(1),
			RunE: func(_ *cobra.Command, args []string) error { return a.configGet(args[0], origin) },
		},
		&cobra.Command{
			Use: "set KEY VALUE", Short: "Change a setting", Args: cobra.ExactArgs(2),
			Example: "  rath config set llm.providers.main.model gpt-5.5\n  rath config set llm.providers.main.api_key sk-...\n  rath config set llm.default_provider main",
			RunE:    func(_ *cobra.Command, args []string) error { return a.configSet(args[0], args[1]) },
		},
		&cobra.Command{
			Use: "list", Short: "Show every setting", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.configList(origin) },
		},
		&cobra.Command{
			Use: "path", Short: "Show where the settings are", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return a.configPath(origin) },
		},
	)
	return cmd
}

// configSet says what was set to programs alone: a user has just typed it.
func (a *app) configSet(key, text string) error {
	_, c, err := a.home()
	if err == nil {
		err = c.Set(key, text)
	}
	if err != nil || !a.asJSON {
		return keyed(err)
	}
	v, _, err := c.Get(key)
	if err != nil {
		return err
	}
	return a.printValue(v, v.Text, false)
}

func (a *app) configGet(key string, origin bool) error {
	_, c, err := a.home()
	if err != nil {
		return err
	}
	v, ok, err := c.Get(key)
	if err != nil {
		return keyed(err)
	}
	if !ok {
		return &hinted{errors.New(key + " is not set"), "rath config set " + key + " VALUE"}
	}
	return a.printValue(v, v.Text, origin)
}

// keyed makes a usage error of a key that there is not, and of a value that does not fit.
func keyed(err error) error {
	if errors.Is(err, config.ErrUnknownKey) || errors.Is(err, config.ErrValue) {
		return usage(err)
	}
	return err
}

func (a *app) configList(origin bool) error {
	_, c, err := a.home()
	if err != nil {
		return err
	}
	all := c.List()
	if len(all) == 0 && !a.asJSON {
		fmt.Fprintln(a.err, "no settings in "+c.File()+"; rath config set KEY VALUE makes one")
	}
	for _, v := range all {
		if err := a.printValue(v, v.Key+"="+v.Text, origin); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printValue(v config.Value, text string, origin bool) error {
	if a.asJSON {
		return a.writeJSON(map[string]string{"key": v.Key, "value": v.Text, "origin": v.Origin})
	}
	if origin {
		text += "\t" + v.Origin
	}
	_, err := fmt.Fprintln(a.out, text)
	return err
}

func (a *app) configPath(origin bool) error {
	dir, why, err := config.Home(a.env)
	if err != nil {
		return err
	}
	c, err := config.Load(dir)
	if err != nil {
		return err
	}
	return a.printValue(config.Value{Key: "path", Text: c.File(), Origin: why}, c.File(), origin)
}

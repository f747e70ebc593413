package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/spf13/cobra"
)

func (a *app) checkCommand() *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Look a flow's file over without running it",
		Long: `Check reads a file of agents and workflows and says all that is wrong with it, each with
its line and column, on stdout: what is no YAML, not as the schema wants it, names that
stand for nothing, circles, and models, tools, servers and memories that there are not.
Nothing is opened, and no key is needed.

The exit code is 0 if the file is good and 2 otherwise. --schema writes the JSON Schema,
for editors.`,
		Example: "  rath check review.yaml\n  rath check --schema >flow.schema.json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case schema && len(args) == 0:
				_, err := a.out.Write(flowfile.Schema)
				return err
			case schema || len(args) == 0:
				return usageOf(cmd, errors.New("it takes a FILE or --schema"))
			}
			return a.check(args[0])
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "write the JSON Schema of such files")
	return cmd
}

// checked is what check found.
type checked struct {
	OK       bool               `json:"ok"`
	File     string             `json:"file"`
	Digest   string             `json:"digest,omitempty"`
	Problems []flowfile.Problem `json:"problems"`
}

func (a *app) check(name string) error {
	f, err := a.readFlow(name)
	var problems flowfile.Problems
	if err != nil && !errors.As(err, &problems) {
		return err
	}
	c := checked{OK: len(problems) == 0, File: filepath.ToSlash(name), Problems: append([]flowfile.Problem{}, problems...)}
	if f != nil {
		c.Digest = f.Digest
	}
	if a.asJSON {
		if err := a.writeJSON(c); err != nil || c.OK {
			return err
		}
		return usage(told{problemCount(name, problems)})
	}
	for _, p := range problems {
		fmt.Fprintln(a.out, printable(p.String()))
	}
	if !c.OK {
		return usage(problemCount(name, problems))
	}
	_, err = fmt.Fprintf(a.out, "%s is good: %s runs\n", printable(name), f.Entry())
	return err
}

func problemCount(name string, problems flowfile.Problems) error {
	return &hinted{fmt.Errorf("%s has %s", name, plural(len(problems), "problem")), problems.Hint()}
}

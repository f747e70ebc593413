package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/internal/mcpserver"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// serveFlows are the workflows that a server offers, by the names of their files.
type serveFlows struct {
	files []string
	found []servedFlow
	given *pflag.FlagSet // those of the server
}

type servedFlow struct {
	name string
	file string
	flow *flowfile.File
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,50}$`)

// read reads and checks the files, so that no client finds out what is wrong with one.
func (f *serveFlows) read(a *app, given *pflag.FlagSet) error {
	f.given = given
	for _, file := range f.files {
		base := filepath.Base(file)
		name := strings.TrimSuffix(base, filepath.Ext(base))
		if !toolName.MatchString(name) {
			return usage(&hinted{fmt.Errorf("--file %s: %q cannot be in the name of a tool", file, name), "rename the file: letters, digits, _ and -"})
		}
		if slices.ContainsFunc(f.found, func(s servedFlow) bool { return s.name == name }) {
			return usage(&hinted{fmt.Errorf("--file %s: there is another file %s", file, name), "rename one of them: the tools are named by the files"})
		}
		parsed, err := a.readFlow(file)
		if err != nil {
			return err
		}
		f.found = append(f.found, servedFlow{name, file, parsed})
	}
	return nil
}

// offers are the workflows as clients see them.
func (f *serveFlows) offers() (all []mcpserver.Flow) {
	for _, s := range f.found {
		all = append(all, mcpserver.Flow{Name: s.name, Description: s.flow.Description(), Content: string(s.flow.Content)})
	}
	return all
}

// notForFlows are flags of the server that a file has its own word for, or that are for
// what the server itself does.
var notForFlows = []string{"file", "system", "tools", "mcp", "mcp-sandbox", "mcp-sampling", "memory"}

// runFlow is rath run -f with the flags that the server was given. The file is read anew,
// as it is now.
func (f *serveFlags) runFlow(ctx context.Context, a *app, name string, in mcpserver.Flowing) error {
	at := slices.IndexFunc(f.flows.found, func(s servedFlow) bool { return s.name == name })
	cmd := a.runCommand()
	cmd.SetContext(ctx)
	errs := []error{cmd.Flags().Set("file", f.flows.found[at].file), cmd.Flags().Set("timeout", f.run.timeout.String())}
	if in.Session != "" {
		errs = append(errs, cmd.Flags().Set("session", in.Session))
	}
	f.flows.given.Visit(func(flag *pflag.Flag) {
		if !slices.Contains(notForFlows, flag.Name) {
			errs = append(errs, passOn(flag, cmd))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return cmd.RunE(cmd, []string{in.Prompt})
}

// passOn gives a command a flag of another, if it has one of that name.
func passOn(flag *pflag.Flag, cmd *cobra.Command) error {
	to := cmd.Flags().Lookup(flag.Name)
	if to == nil {
		return nil
	}
	list, ok := flag.Value.(pflag.SliceValue)
	if !ok {
		return cmd.Flags().Set(flag.Name, flag.Value.String())
	}
	for _, value := range list.GetSlice() {
		if err := cmd.Flags().Set(flag.Name, value); err != nil {
			return err
		}
	}
	return nil
}

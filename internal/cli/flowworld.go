package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// CheckModel resolves a model, without opening it: no key is needed.
func (w *flowWorld) CheckModel(name string) error {
	chosen, err := choose(w.config, w.a.env, besideURL(w.dir, "scripted", name), "")
	if err == nil && chosen.scheme == "scripted" {
		_, err = chosen.open(0)
	}
	return inFile(err)
}

// CheckTool looks among the built-in ones.
func (w *flowWorld) CheckTool(name string) error {
	_, err := chooseTools(name)
	return err
}

// CheckMemory resolves a memory, without opening it.
func (w *flowWorld) CheckMemory(store string) error {
	_, err := w.a.chooseMemory(besideMemory(w.dir, store))
	return inFile(err)
}

// CheckSandbox tries a value on the flag of its name.
func (w *flowWorld) CheckSandbox(field, value string) error {
	flag := strings.ReplaceAll(field, "_", "-")
	if field == "url" {
		scheme, _, _ := strings.Cut(value, ":")
		if _, isRemote := remotes[scheme]; !isRemote && scheme != "local" && value != "none" && !strings.HasPrefix(value, "@") {
			return fmt.Errorf("%q: unknown scheme: use %s", value, sandboxURLs)
		}
		return nil
	}
	var r rules
	cmd := &cobra.Command{}
	r.flags(cmd)
	if cmd.Flags().Lookup(flag) == nil {
		return nil // the schema knows it
	}
	if err := cmd.Flags().Set(flag, value); err != nil {
		return inFile(err)
	}
	return inFile(r.check())
}

// CheckRule looks whether a rule is about any tool.
func (w *flowWorld) CheckRule(rule string, known bool) error {
	if !known {
		return nil // the schema knows its form, and the server its tools
	}
	return pointless(rule, ownTools())
}

var aFlag = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// inFile says an error about flags in the words of a file, whose fields have the same names.
func inFile(err error) error {
	if err == nil {
		return nil
	}
	word := func(flag string) string {
		return strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")
	}
	return &hinted{&reworded{aFlag.ReplaceAllStringFunc(err.Error(), word), err}, aFlag.ReplaceAllStringFunc(hintOf(err), word)}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/resource"
	"github.com/spf13/cobra"
)

// resources are the flags of documents that are added.
type resources struct {
	to, name     string
	meta         []string
	importance   float64
	allowPrivate bool
}

func (m *memoryCommands) addCommand() *cobra.Command {
	var f resources
	cmd := &cobra.Command{
		Use:   "add FILE|FOLDER|URL|-...",
		Short: "Add documents: files, folders, web pages, or stdin",
		Long: `Add reads documents and keeps them in pieces below memory://resources: Markdown, HTML,
PDF, source code and other text. What is there already, to the byte, is not added again;
a document that has changed takes the place of the older one. Each has a folder, called by
its name and eight digits of the digest of its absolute name or address; --to is another,
where no other document may be.

Web pages are fetched from public addresses only, unless --allow-private is given.`,
		Example: "  rath memory add README.md docs\n  rath memory add --to memory://resources/spec https://www.rfc-editor.org/rfc/rfc9110.txt\n  git log | rath memory add --name history.txt -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return usageOf(cmd, err)
			}
			return m.addAll(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the folder to keep it in, a URI (default: memory://resources/NAME-DIGEST)")
	flags.StringVar(&f.name, "name", "", "the name of what stdin is")
	flags.StringArrayVar(&f.meta, "meta", nil, "metadata, key=value (may be repeated)")
	flags.Float64Var(&f.importance, "importance", 0, "from 0 to 1 (0: not told)")
	flags.BoolVar(&f.allowPrivate, "allow-private", false, "also fetch from addresses of private networks and of this machine")
	_ = cmd.RegisterFlagCompletionFunc("to", m.completeURI)
	return cmd
}

func (f resources) check(args []string) error {
	stdin := 0
	for _, arg := range args {
		if arg == "-" {
			stdin++
		}
	}
	switch {
	case f.to != "" && len(args) > 1:
		return errors.New("--to is for one resource: add the others one by one")
	case stdin > 1:
		return errors.New("stdin can be read only once")
	case stdin == 1 && f.name == "":
		return errors.New("- needs a --name such as notes.md, which also says what it is")
	case stdin == 0 && f.name != "":
		return errors.New("--name is for stdin: give - as the resource")
	case !(f.importance >= 0 && f.importance <= 1):
		return fmt.Errorf("--importance %v: it is from 0 to 1", f.importance)
	}
	if f.to != "" {
		if _, err := memory.ParseURI(f.to); err != nil {
			return fmt.Errorf("--to: %w", err)
		}
	}
	_, err := parseMeta(f.meta)
	return err
}

func (m *memoryCommands) addAll(ctx context.Context, f resources, args []string) error {
	chosen, err := m.chooseMemory(m.url)
	if err != nil {
		return err
	}
	opts := memory.Options{Resources: &resource.Options{Fetch: &resource.Fetcher{AllowPrivate: f.allowPrivate}}}
	return m.with(ctx, chosen, adding, opts, func(s *memory.Store) error {
		for _, name := range args {
			if err := m.add(ctx, s, f, name); err != nil {
				return err
			}
		}
		return nil
	})
}

func (m *memoryCommands) add(ctx context.Context, s *memory.Store, f resources, name string) error {
	p := m.progress("add "+oneLine(printable(resource.Shown(name)), 60), 0)
	defer p.stop()
	o := &memory.ResourceOptions{To: memory.URI(f.to), Importance: f.importance, Wait: true, Progress: p.memory}
	o.Meta, _ = parseMeta(f.meta) // it is checked
	if name == "-" {
		text, err := m.stdin(ctx, "resource")
		if err != nil {
			return err
		}
		if len(text) > maxMessage {
			return usage(&hinted{fmt.Errorf("stdin is longer than %d MiB", maxMessage>>20), "put it into files, and add their folder"})
		}
		name, o.Data = f.name, []byte(text)
	}
	in, err := s.AddResource(ctx, name, o)
	p.stop()
	if err != nil {
		return addHint(err)
	}
	return m.printIngested(in)
}

// addHint says what to do about a resource that could not be read.
func addHint(err error) error {
	var refused *resource.Refused
	if errors.As(err, &refused) && refused.Addr.IsValid() {
		return &hinted{err, "--allow-private fetches from there, if what it serves may be read"}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &hinted{err, "check the name: it is a file, a folder, an http or https address, or - for stdin"}
	}
	return err
}

// shownSkipped is how many of the files are named that could not be read.
const shownSkipped = 20

func (m *memoryCommands) printIngested(in memory.Ingested) error {
	if m.asJSON {
		return m.writeJSON(in)
	}
	m.tellSkipped(in.Skipped)
	var counts []string
	if in.Files > 0 || in.Known == 0 {
		counts = append(counts, plural(in.Files, "file"), plural(in.Notes, "note"))
	}
	if in.Known > 0 {
		counts = append(counts, plural(in.Known, "file")+" known already")
	}
	_, err := fmt.Fprintf(m.out, "%s  %s\n", m.tint("36", prose(string(in.URI))), strings.Join(counts, ", "))
	return err
}

func (m *memoryCommands) tellSkipped(skipped []string) {
	for i, text := range skipped {
		if i == shownSkipped {
			fmt.Fprintf(m.err, "and %d more were skipped; --json names them\n", len(skipped)-i)
			return
		}
		fmt.Fprintln(m.err, printable(oneLine(text, 300)))
	}
}

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openrath-go/rath/evidence"
	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/spf13/cobra"
)

// dossierFormats are the forms of a dossier, by the ends of file names.
var dossierFormats = map[string]func(*evidence.Dossier, io.Writer) error{
	"html": (*evidence.Dossier).WriteHTML, "md": (*evidence.Dossier).WriteMarkdown, "json": (*evidence.Dossier).WriteJSON,
}

var exportFormats = []string{"html", "md", "json", "jsonl"}

func (a *app) exportCommand() *cobra.Command {
	var file, format string
	var force, secrets bool
	var patterns []string
	cmd := &cobra.Command{
		Use:   "export ID -o FILE",
		Short: "Write the dossier of a run or session, or OpenRath's file of it",
		Long: `Write all that is known of a run or a session into one file, in the form that its name
ends with: .html, .md and .json are a dossier, which people can read and rath verify can
check; .jsonl is OpenRath's session file.

Secrets are taken out of dossiers: what looks like a key or a password, and what a
regular expression of --redact or of the setting redact.patterns finds, of which a group
in parentheses is taken out alone. A session file is written as it is.

` + idHelp,
		Example: `  rath export @ -o dossier.html
  rath export 0198c0de -o session.jsonl
  rath export @ -o - --format md
  rath export @ -o dossier.html --redact 'ACME-[0-9]+' --redact 'badge: (\w+)'`,
		Args: cobra.ExactArgs(1),
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "output", "o", "", "the file to write; - is stdout")
	flags.StringVar(&format, "format", "", "html, md, json or jsonl (default: as the file's name ends)")
	flags.BoolVarP(&force, "force", "f", false, "replace the file if it is there")
	flags.BoolVar(&secrets, "keep-secrets", false, "leave in a dossier what looks like a key or a password")
	flags.StringArrayVar(&patterns, "redact", nil, "take out of a dossier also what this regular `expression` finds; may be repeated")
	cmd.PreRunE = atMostOne("redact", "keep-secrets")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		form := cmp.Or(format, strings.TrimPrefix(filepath.Ext(file), "."))
		switch {
		case file == "":
			return usageOf(cmd, errors.New("-o FILE is missing"))
		case !slices.Contains(exportFormats, form):
			return usageOf(cmd, fmt.Errorf("the format %q is none of html, md, json, jsonl: use --format, or a name that ends so", form))
		case a.asJSON && file == "-" && (form == "html" || form == "md"):
			return usageOf(cmd, fmt.Errorf("%s on stdout is no JSON: leave out --json, use --format json, or write a file", form))
		case form == "jsonl" && len(patterns) > 0:
			return usageOf(cmd, errors.New("--redact goes with a dossier: nothing is taken out of a session file"))
		}
		o, err := a.redaction(patterns)
		if err != nil {
			return err
		}
		o.NoRedact = secrets
		return a.useRecords(cmd.Context(), reading, func(r *records) error {
			data, err := a.export(cmd.Context(), r, args[0], form, o)
			if err != nil {
				return err
			}
			return a.save(file, data, force)
		})
	}
	return cmd
}

// redaction are the options with the expressions of the flags and of the configuration.
func (a *app) redaction(flags []string) (*evidence.Options, error) {
	_, c, err := a.home()
	if err != nil {
		return nil, err
	}
	o := &evidence.Options{}
	if o.Patterns, err = c.Patterns(); err != nil {
		return nil, err
	}
	for _, text := range flags {
		p, err := config.Pattern(text)
		if err != nil {
			return nil, usage(&hinted{fmt.Errorf("--redact %q: %w", text, err), "it is a regular expression of Go's, such as 'ACME-[0-9]+'"})
		}
		o.Patterns = append(o.Patterns, p)
	}
	return o, nil
}

func (a *app) export(ctx context.Context, r *records, text, form string, o *evidence.Options) ([]byte, error) {
	p := a.progress("export", 0)
	defer p.stop()
	var b bytes.Buffer
	if form == "jsonl" {
		err := r.writeFile(ctx, text, &b)
		return b.Bytes(), err
	}
	id, err := r.subject(ctx, text)
	if err != nil {
		return nil, err
	}
	d, err := evidence.Collect(ctx, r, id, o)
	if err != nil {
		return nil, err
	}
	err = dossierFormats[form](d, &b)
	return b.Bytes(), err
}

// subject is what a dossier is about: a run, or a session of the store.
func (r *records) subject(ctx context.Context, text string) (session.ID, error) {
	s, err := r.session(ctx, text)
	if err == nil && s.inFile {
		return session.ID{}, &hinted{fmt.Errorf("session %s is in a file, and not in the store", s.ID()), "rath import " + string(r.files) + " brings the files into the store"}
	}
	if err == nil && s.n < s.Len() {
		return session.ID{}, usage(&hinted{errors.New("a dossier is about a whole session"), "rath fork " + text + " makes one of the beginning"})
	}
	if err == nil || !errors.Is(err, errNoSession) && !errors.Is(err, store.ErrAmbiguous) {
		return s.ID(), err
	}
	if run, runErr := r.run(ctx, text); runErr == nil {
		return run.ID, nil
	}
	return session.ID{}, err
}

// writeFile writes OpenRath's file of a session, of a run that of its output.
func (r *records) writeFile(ctx context.Context, text string, w io.Writer) error {
	f, err := r.session(ctx, text)
	if errors.Is(err, errNoSession) {
		if run, runErr := r.run(ctx, text); runErr == nil && !run.Output.IsZero() {
			f, err = r.load(ctx, run.Output)
			f.n = f.Len()
		}
	}
	if err != nil {
		return err
	}
	s, err := f.prefix()
	if err != nil {
		return err
	}
	file, err := jsonl.Encode(s, s.Lineage().Time)
	if err != nil {
		return err
	}
	return file.Write(w)
}

// save writes a file, whole or not at all.
func (a *app) save(path string, data []byte, force bool) error {
	if path == "-" {
		_, err := a.out.Write(data)
		return err
	}
	if _, err := os.Lstat(path); err == nil && !force {
		return &hinted{fmt.Errorf("%s is there already", path), "--force replaces it"}
	}
	if err := replaceFile(path, data); err != nil {
		return &hinted{fmt.Errorf("write %s: %w", path, err), "check the folder and its disk"}
	}
	if a.asJSON {
		return a.writeJSON(map[string]any{"file": path, "bytes": len(data)})
	}
	fmt.Fprintf(a.err, "wrote %s, %s\n", printable(path), amount(int64(len(data))))
	return nil
}

func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".rath-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

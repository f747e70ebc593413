package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/openrath-go/rath/evidence"
	"github.com/spf13/cobra"
)

func (a *app) verifyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "verify FILE",
		Short: "Check a dossier that rath export wrote",
		Long: `Check a dossier that rath export wrote: every digest in it, the hash chain of its events,
and the seal over the file are computed anew. The exit code is 3 if anything is wrong. A
seal is no signature: it tells that a file was changed, not who wrote it.`,
		Example: "  rath export @ -o dossier.html && rath verify dossier.html",
		Args:    cobra.ExactArgs(1),
		RunE:    func(_ *cobra.Command, args []string) error { return a.verify(args[0]) },
	}
}

func (a *app) verify(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return &hinted{err, "verify takes a file that rath export wrote"}
	}
	report, err := evidence.Verify(data)
	if errors.Is(err, evidence.ErrFormat) && report == nil {
		return &checkError{&hinted{fmt.Errorf("%s: %w", path, err), "rath export ID -o FILE.html writes a dossier"}}
	}
	if err != nil {
		return &checkError{&hinted{fmt.Errorf("%s: %w", path, err), "the file is not what was written: export it anew, or get it from its source again"}}
	}
	if a.asJSON {
		return a.writeJSON(report)
	}
	_, err = fmt.Fprintf(a.out, "%s: nothing was changed\nseal %s\n", printable(path), report.Seal)
	return err
}

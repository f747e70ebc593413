package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/internal/config"
)

// full takes a few bytes, then fails.
type full struct {
	text strings.Builder
	room int
	err  error
}

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), f.room-f.text.Len())
	f.text.Write(p[:n])
	if n < len(p) {
		return n, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: f.err}
	}
	return n, nil
}

func TestOutputKeepsItsFirstError(t *testing.T) {
	dest := &full{room: 3, err: syscall.ENOSPC}
	out := &output{w: dest}
	for range 3 {
		fmt.Fprint(out, "ab")
	}
	if diff := cmp.Diff("aba", dest.text.String()); diff != "" {
		t.Error(diff)
	}
	lost := out.lostWith(nil)
	if lost == nil || lost.Error() != "write to stdout: no space left on device" {
		t.Error(lost)
	}
	if err := out.lostWith(fmt.Errorf("list: %w", lost)); strings.Count(err.Error(), "stdout") != 1 {
		t.Error(err)
	}
	if err := out.lostWith(context.Canceled); !errors.Is(err, syscall.ENOSPC) || exitCode(err) != exitInterrupted {
		t.Error(err)
	}
}

func TestExitOfLostOutput(t *testing.T) {
	for _, test := range []struct {
		err    error
		code   int
		stderr string
	}{
		{syscall.ENOSPC, exitFailed, "rath: write to stdout: no space left on device\nhint: "},
		{syscall.EPIPE, exitUnread, ""},
	} {
		for _, args := range [][]string{{"version"}, {"version", "--json"}, {"doctor"}, {"config", "path"}, {"--help"}, {"help", "exit-codes"}} {
			t.Run(fmt.Sprint(test.err, args), func(t *testing.T) {
				var stderr strings.Builder
				home := t.TempDir()
				env := config.Env(func(name string) string {
					if name == "OPENRATH_HOME" {
						return home
					}
					return ""
				})
				a := &app{out: &output{w: &full{err: test.err}}, err: &stderr, env: env}
				if code := a.run(t.Context(), args); code != test.code {
					t.Errorf("exit code %d, want %d", code, test.code)
				}
				if got := stderr.String(); !strings.HasPrefix(got, test.stderr) || test.stderr == "" && got != "" {
					t.Error(got)
				}
			})
		}
	}
}

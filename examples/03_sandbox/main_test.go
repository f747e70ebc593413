package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// What is shown depends on the machine: a level that is not there says why.
func TestShow(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash to connect with")
	}
	var want strings.Builder
	for _, here := range local.Probe(t.Context()) {
		verdict := "it cannot"
		if here.Level == sandbox.LevelHost {
			verdict = "it can"
		}
		fmt.Fprintln(&want, "level", here.Level)
		if here.Err != nil {
			refused(&want, here.Err)
			continue
		}
		for _, what := range []string{"read a file outside     ", "connect to a server     ", "signal another process  "} {
			fmt.Fprintf(&want, "  %s %s\n", what, verdict)
		}
	}
	want.WriteString(`no network, at level host
  refused: level "host" cannot enforce rules for files or networks: its commands are ordinary processes of this user
  hint: use level bubblewrap or landlock
That did not work: resolve ../diary.txt: the path leaves the workspace (only paths inside the workspace can be reached) <nil>
`)
	var out bytes.Buffer
	show(context.Background(), &out)
	if diff := cmp.Diff(want.String(), out.String()); diff != "" {
		t.Error(diff)
	}
}

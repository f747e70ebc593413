package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// What the levels stop is printed as well. It depends on the machine, and is left out here.
func Example() {
	work, remove, err := workspace()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer remove()
	if err := places(context.Background(), offline.New(), work); err != nil {
		fmt.Println(err)
	}
	// Output:
	// local: I wrote 5 bytes to place.txt.
	// local: local
	// local: That did not work: resolve ../diary.txt: the path leaves the workspace (only paths inside the workspace can be reached)
	// opensandbox: I wrote 11 bytes to place.txt.
	// opensandbox: opensandbox
	// opensandbox: That did not work: resolve ../diary.txt: the path leaves the workspace (only paths inside the workspace can be reached)
}

// What the levels stop depends on the machine: one that is not there says why.
func TestLevels(t *testing.T) {
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
`)
	var out bytes.Buffer
	work, remove, err := workspace()
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	if err := levels(t.Context(), &out, work); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.String(), out.String()); diff != "" {
		t.Error(diff)
	}
}

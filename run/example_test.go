package run_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/sqlite"
)

// A run is kept as it happens, and replayed with nobody to ask: the script has one reply.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()

	runner := run.New(st, nil)
	agent := &flow.Agent{Model: scripted.New(scripted.Reply{Text: "Good morning."})}
	h, err := runner.Start(ctx, "greet", agent, session.FromUser("Good morning!"))
	if err != nil {
		log.Fatal(err)
	}
	out, err := h.Wait()
	fmt.Println(h.State(), out.Text(), err)
	again, err := runner.Replay(ctx, h.ID(), agent)
	fmt.Println(again.ID() == out.ID(), again.Text(), err)
	// Output:
	// succeeded Good morning. <nil>
	// true Good morning. <nil>
}

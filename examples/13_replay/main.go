// Replay: a run is done again from its record, with the model and the tools unplugged: what a
// seed does for training, for work that the world takes part in. A program that would do
// something else is told where it parts from the record.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

// dice is an agent that throws dice. The throw is a tool, so it is on record.
func dice(prompt string, model llm.Model) *flow.Agent {
	throw := tool.New("throw", "Throw dice.", func(context.Context, struct{}) (int, error) {
		fmt.Println("the dice roll")
		return 4, nil // chosen by fair dice roll
	})
	return &flow.Agent{Name: "dice", Prompt: prompt, Model: model, Tools: tool.Set{throw}}
}

// The store is a file; that of the command is rath.db in OpenRath's home, and rath replay does this there.
func show(ctx context.Context) error {
	model := live.Or(scripted.Func(func(req *llm.Request) scripted.Reply {
		if last := req.Messages.Last(); last.Kind() == session.KindToolResult {
			return scripted.Reply{Text: "It is a " + last.Text() + "."}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("throw", `{}`)}}
	}))
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		return err
	}
	defer st.Close()
	return demo(ctx, run.New(st, nil), model)
}

func main() {
	if err := show(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// The replay makes the same session, to the digest. Rerun would go on live from any effect, with
// those before it taken over.
func demo(ctx context.Context, runner *run.Runner, model llm.Model) error {
	h, err := runner.Start(ctx, "dice", dice("Throw once.", model), session.FromUser("Throw!"))
	if err != nil {
		return err
	}
	out, err := h.Wait()
	if err != nil {
		return err
	}
	fmt.Println("live:  ", out.Text())

	again, err := runner.Replay(ctx, h.ID(), dice("Throw once.", nobody(model.String())))
	if err != nil {
		return err
	}
	fmt.Println("replay:", again.Text(), again.Digest() == out.Digest())

	_, err = runner.Replay(ctx, h.ID(), dice("Throw twice.", nobody(model.String())))
	var d *run.Divergence
	if errors.As(err, &d) {
		fmt.Println("another prompt diverges at", d.Path, d.Field)
	}
	return nil
}

// nobody is a model that must not be asked. It has the name of the one that was.
type nobody string

func (n nobody) String() string { return string(n) }

func (nobody) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, errors.New("nobody is to be asked")) }
}

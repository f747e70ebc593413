// Replay: a run again from its record, with the model and the tools unplugged. A program
// that would do something else is told where. Rerun goes on live from any effect.
package main

import (
	"context"
	"errors"
	"fmt"
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

func main() {
	model := live.Or(scripted.Func(func(req *llm.Request) scripted.Reply {
		if last := req.Messages.Last(); last.Kind() == session.KindToolResult {
			return scripted.Reply{Text: "It is a " + last.Text() + "."}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("throw", `{}`)}}
	}))
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	if err := demo(ctx, run.New(st, nil), model); err != nil {
		log.Fatal(err)
	}
}

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

	again, err := runner.Replay(ctx, h.ID(), dice("Throw once.", nobody{}))
	if err != nil {
		return err
	}
	fmt.Println("replay:", again.Text(), again.Digest() == out.Digest())

	_, err = runner.Replay(ctx, h.ID(), dice("Throw twice.", nobody{}))
	var d *run.Divergence
	if errors.As(err, &d) {
		fmt.Println("another prompt diverges at", d.Path, d.Field)
	}
	return nil
}

// nobody is a model that must not be asked. It has the name of the one that was.
type nobody struct{ llm.Model }

func (nobody) String() string { return "scripted:" }

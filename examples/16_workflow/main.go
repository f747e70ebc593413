// Your own workflow: a struct whose fields are its children, with a Forward, is a workflow, as
// an nn.Module is. This one puts together what the rungs before have shown: an agent with a tool
// and a memory, and a compressor.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// Report counts, and keeps the session short.
type Report struct {
	Count *flow.Agent
	Short *flow.Compressor
}

// Forward is plain Go: an if, a loop or an error is what it is anywhere.
func (r *Report) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	s, err := r.Count.Forward(ctx, s)
	if err != nil {
		return s, err
	}
	return r.Short.Forward(ctx, s)
}

func newReport(model llm.Model, notes *memory.Store) *Report {
	count := tool.New("word_count", "Count words.", func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (int, error) {
		return len(strings.Fields(in.Text)), nil
	})
	return &Report{
		Count: &flow.Agent{Name: "count", Prompt: "Count with word_count.", Model: model, Tools: tool.Set{count}, Memory: notes},
		Short: &flow.Compressor{Prompt: "Keep the numbers.", Model: model},
	}
}

// Nothing is registered: the children are found in the fields. So [flow.Fprint] prints a
// workflow as print(model) does, [flow.Check] finds what is missing before anything runs, and
// wherever a workflow is wanted, in a [flow.Sequence] say, a Report will do.
func demo(ctx context.Context, model llm.Model, notes *memory.Store) error {
	report := newReport(model, notes)
	if err := flow.Fprint(os.Stdout, report); err != nil {
		return err
	}
	fmt.Printf("without a model:\n%v\n", flow.Check(newReport(nil, notes)))

	if _, err := notes.Remember(ctx, "The user likes short answers.", nil); err != nil {
		return err
	}
	out, err := report.Forward(ctx, session.FromUser("Count: one two three"))
	fmt.Println(out.Text(), out.Total().Calls, "calls of the model")
	return err
}

func main() {
	model := live.Or(scripted.New(
		scripted.Reply{Calls: []session.Call{scripted.Call("word_count", `{"text":"one two three"}`)}},
		scripted.Reply{Text: "Three words."},
		scripted.Reply{Text: "The user had words counted: three."},
	))
	if err := show(context.Background(), model); err != nil {
		log.Fatal(err)
	}
}

func show(ctx context.Context, model llm.Model) error {
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	notes, err := local.Open(ctx, dir, nil)
	if err != nil {
		return err
	}
	defer notes.Close()
	return demo(ctx, model, notes)
}

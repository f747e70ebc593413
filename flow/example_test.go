package flow_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// answers is an agent that gives one answer.
func answers(name, text string) *flow.Agent {
	return &flow.Agent{Name: name, Model: scripted.New(scripted.Reply{Text: text})}
}

// article is a workflow: a struct whose fields are its children.
type article struct {
	Draft *flow.Agent
	Short *flow.Compressor
}

func (a *article) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	s, err := a.Draft.Forward(ctx, s)
	if err != nil {
		return s, err
	}
	return a.Short.Forward(ctx, s)
}

func ExampleWorkflow() {
	a := &article{Draft: answers("draft", "Air scatters blue light the most."), Short: &flow.Compressor{Model: answers("", "It is the air.").Model}}
	out, err := a.Forward(context.Background(), session.FromUser("Why is the sky blue?"))
	fmt.Println(out.Text(), err)
	// Output: It is the air. <nil>
}

func ExampleSequence() {
	both := flow.Sequence{answers("draft", "Blue light scatters."), answers("editor", "Air scatters blue light.")}
	out, err := both.Forward(context.Background(), session.FromUser("Why is the sky blue?"))
	for _, c := range out.All() {
		fmt.Println(c.Kind(), c.Text())
	}
	fmt.Println(err)
	// Output:
	// user Why is the sky blue?
	// assistant Blue light scatters.
	// assistant Air scatters blue light.
	// <nil>
}

func ExampleFprint() {
	_ = flow.Fprint(os.Stdout, flow.Sequence{
		&article{Draft: answers("draft", ""), Short: &flow.Compressor{Model: scripted.New()}},
		&flow.Parallel{Branches: []flow.Workflow{answers("facts", ""), answers("style", "")}},
	})
	// Output:
	// Sequence(
	//   ([0]): article(
	//     (Draft): Agent("draft", scripted:)
	//     (Short): Compressor("compressor", scripted:, keep 0)
	//   )
	//   ([1]): Parallel(
	//     (Branches[0]): Agent("facts", scripted:)
	//     (Branches[1]): Agent("style", scripted:)
	//   )
	// )
}

func ExampleCheck() {
	fmt.Println(flow.Check(&article{Draft: &flow.Agent{}, Short: &flow.Compressor{Model: scripted.New()}}))
	// Output: Draft: no model is set
}

func ExampleAsTool() {
	poet := answers("poet", "Roses are red.")
	poet.Description = "Writes a line."
	host := &flow.Agent{
		Model: scripted.New(
			scripted.Reply{Calls: []session.Call{scripted.Call("poet", `{"task":"a line on roses"}`)}},
			scripted.Reply{Text: "There you are."},
		),
		Tools: tool.Set{flow.AsTool(poet, nil)},
	}
	out, err := host.Forward(context.Background(), session.FromUser("I want a poem."))
	fmt.Println(out.At(2).Text(), out.Text(), err)
	// Output: Roses are red. There you are. <nil>
}

func ExampleGo() {
	in := session.FromUser("Hello?")
	first, second := flow.Go(context.Background(), answers("a", "Hi!"), in), flow.Go(context.Background(), answers("b", "Good day."), in)
	fmt.Println("known at once:", first.Parents()[0].ID == in.ID())
	for _, f := range []*flow.Future{first, second} {
		out, err := f.Wait()
		fmt.Println(out.Text(), out.ID() == f.ID(), err)
	}
	// Output:
	// known at once: true
	// Hi! true <nil>
	// Good day. true <nil>
}

func ExampleWithBudget() {
	ctx, err := flow.WithBudget(context.Background(), flow.Budget{Name: "article", Calls: 1})
	if err != nil {
		fmt.Println(err)
	}
	out, err := flow.Sequence{answers("draft", "A draft."), answers("editor", "Better.")}.Forward(ctx, session.FromUser("Write."))
	var over *flow.BudgetError
	fmt.Println(out.Text(), errors.As(err, &over), over.Limit, over.Of)
	// Output: A draft. true calls 1
}

func ExampleInterrupt() {
	ctx := flow.WithDecider(context.Background(), func(_ context.Context, q flow.Question) (flow.Decision, error) {
		fmt.Println("somebody is asked:", q.Message)
		return flow.Decision{Verdict: flow.Respond, Text: "Ada"}, nil
	})
	d, err := flow.Interrupt(ctx, flow.Request{Key: "name", Kind: flow.KindInput, Message: "Your name?"})
	fmt.Println("hello,", d.Text, err)
	// Output:
	// somebody is asked: Your name?
	// hello, Ada <nil>
}

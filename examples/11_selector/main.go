// Routing: a [flow.Selector] has a model choose which workflow is next. What PyTorch calls
// control flow stays what it is: an if, a loop, plain Go. The choice is one of the names that
// were offered, or that nothing is left to do, or that nobody is for it; anything else the
// model may say is an error, never a guess.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// desk is who answers at a help desk. A description says what each is for: that is all the
// selector knows of them. Any [flow.Workflow] can be chosen, and a [flow.Label] describes one
// that does not describe itself.
type desk struct{ Tech, Billing, Wrapup flow.Workflow }

func newDesk() desk {
	agent := func(name, description, answer string) *flow.Agent {
		return &flow.Agent{
			Name: name, Description: description, Prompt: "Answer in one sentence. You are for: " + description,
			Model: live.Or(scripted.New(scripted.Reply{Text: answer})),
		}
	}
	return desk{
		Tech:    agent("tech", "something does not work", "Restart the router, then it works."),
		Billing: agent("billing", "invoices and payments", "I have refunded the second payment."),
		Wrapup:  agent("wrapup", "everything is solved and the customer wants to go", "Thank you, good-bye!"),
	}
}

// selector plays a model that gives these choices in order.
func selector(choices ...string) *flow.Selector {
	var replies []scripted.Reply
	for _, c := range choices {
		replies = append(replies, scripted.Reply{Text: c})
	}
	return &flow.Selector{Model: live.Or(scripted.New(replies...))}
}

// The if: who is to answer is known, and what follows is up to the program.
func urgent(ctx context.Context, x *flow.Selector, d desk, s session.Session) error {
	next, err := x.Select(ctx, s, d.Tech, d.Billing)
	if err != nil {
		return err
	}
	if next == d.Tech {
		fmt.Println("somebody is woken up")
	}
	return nil
}

// maxRounds ends a loop that a model would not end.
const maxRounds = 8

// The loop: [flow.Done] ends it, and so does [flow.ErrNoMatch], of which the program makes what
// it likes. Choose tells more than Select: the reason, and the session with what choosing cost.
func (d desk) loop(ctx context.Context, x *flow.Selector, s session.Session) (session.Session, error) {
	for range maxRounds {
		c, err := x.Choose(ctx, s, d.Tech, d.Billing, d.Wrapup)
		s = c.Session
		switch {
		case errors.Is(err, flow.ErrNoMatch):
			fmt.Println("nobody is for that:", c.Reason)
			return s, nil
		case err != nil:
			return s, err
		case c.Workflow == flow.Done:
			fmt.Println("done:", c.Reason)
			return s, nil
		}
		if s, err = c.Workflow.Forward(ctx, s); err != nil {
			return s, err
		}
		fmt.Printf("%s (%s): %s\n", c.Name, c.Reason, s.Text())
	}
	return s, flow.ErrMaxRounds
}

// route is the same loop as a workflow, so that it can be a part of others, be printed and be
// checked. What runs when nobody is for it is its Default.
func (d desk) route(x *flow.Selector) *flow.Route {
	human := func(_ context.Context, s session.Session) (session.Session, error) {
		return s.Append(session.Assistant([]session.Part{session.Text("A colleague will call you.")})), nil
	}
	return &flow.Route{
		Selector: x, Choices: []flow.Workflow{d.Tech, d.Billing, d.Wrapup},
		Default: &flow.Label{Name: "human", Workflow: flow.Func(human)}, MaxRounds: maxRounds,
	}
}

func show(ctx context.Context) error {
	in := session.FromUser("My internet is down, and I was charged twice.")
	if err := urgent(ctx, selector(`{"reason":"It is down.","choice":"tech"}`), newDesk(), in); err != nil {
		return err
	}
	out, err := newDesk().loop(ctx, selector(
		`{"reason":"First the fault.","choice":"tech"}`, `{"reason":"Then the money.","choice":"billing"}`,
		`{"reason":"Both are solved.","choice":"wrapup"}`, `{"reason":"Nothing is left.","choice":"done"}`), in)
	if err != nil {
		return err
	}
	fmt.Println(out.Len(), "chunks,", out.Total().Calls, "calls of models")

	garden := session.FromUser("Who waters my garden?")
	if _, err := newDesk().loop(ctx, selector(`{"reason":"We have no gardener.","choice":"none"}`), garden); err != nil {
		return err
	}
	out, err = newDesk().route(selector("none", "done")).Forward(ctx, garden)
	fmt.Println("route:", out.Text())
	return err
}

func main() {
	if err := show(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Compression: a [flow.Compressor] maps a long session to a short one that says the same, as a
// pooling layer does for a tensor: a model writes a summary. Nothing is thrown away: what was
// taken out stays reachable by its digest.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// trip is a conversation, with a tool call and its result.
func trip() session.Session {
	say := func(text string, calls ...session.Call) session.Chunk {
		return session.Assistant([]session.Part{session.Text(text)}, calls...)
	}
	return session.New(
		session.User(session.Text("I want to go to Faro in May, by train.")),
		say("For how long?"),
		session.User(session.Text("Three days. When does a train go?")),
		say("Let me look.", session.Call{ID: "call_1", Name: "trains", Arguments: `{"to":"Faro"}`}),
		session.ToolResult(session.Answer{CallID: "call_1", Tool: "trains"}, session.Text("8:32, 14:02")),
		say("At 8:32 and at 14:02."),
	)
}

// There are two ways. The whole conversation becomes one message of the user, as in OpenRath;
// or the last turns stay as they are, and a call is never parted from its result.
func shorten(ctx context.Context, model llm.Model, keep int) (session.Session, error) {
	c := &flow.Compressor{Model: model, Keep: keep}
	short, err := c.Forward(ctx, trip())
	if err != nil {
		return short, err
	}
	fmt.Printf("keep %d turns: %d chunks become %d\n", keep, trip().Len(), short.Len())
	for _, c := range short.All() {
		fmt.Printf("  %s: %s\n", c.Kind(), strings.ReplaceAll(c.Text(), "\n\n", " "))
	}
	return short, nil
}

// An agent compresses by itself when its session becomes too long, between two rounds of tool
// calls if need be. This one reads a book whose pages are long.
func reader(model, summaries llm.Model) *flow.Agent {
	turn := tool.New("turn_page", "Read the next page.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("It was a dark and stormy night. ", 20), nil
	})
	turn.Class = effect.ReadOnly
	return &flow.Agent{
		Prompt: "Read six pages, one after the other, then say how the weather is.",
		Model:  model, Tools: tool.Set{turn},
		Compress: &flow.Compressor{Model: summaries, Keep: 2}, CompressAt: 700,
	}
}

// pages plays a model that turns a page six times.
func pages() llm.Model {
	read := 0
	return scripted.Func(func(*llm.Request) scripted.Reply {
		if read++; read > 6 {
			return scripted.Reply{Text: "Dark and stormy."}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("turn_page", "{}")}}
	})
}

// says plays a model that writes the same summary every time.
func says(text string) llm.Model {
	return scripted.Func(func(*llm.Request) scripted.Reply { return scripted.Reply{Text: text} })
}

// The summary says what it stands for: its URL is the digest of the transcript up to where it
// was cut, which [flow.Removed] finds in the parent, a store under the digest, and a dossier
// lists. What an agent did before it compressed is an ancestor of what it made, like everything.
func main() {
	ctx := context.Background()
	var short session.Session
	for _, keep := range []int{0, 2} {
		var err error
		if short, err = shorten(ctx, live.Or(says("They go to Faro in May for three days, by train.")), keep); err != nil {
			log.Fatal(err)
		}
	}
	removed, _ := flow.Removed(short)
	fmt.Println("taken out:", removed.Len(), "chunks, the last:", removed.Last().Text())

	out, err := reader(live.Or(pages()), live.Or(says("They read a book: it is night."))).Forward(ctx, session.FromUser("How is the weather in the book?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
	for s := out; len(s.Parents()) > 0; s = s.Parents()[0] {
		fmt.Printf("  %s: %d chunks\n", s.Lineage().Op, s.Len())
	}
}

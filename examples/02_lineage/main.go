// Lineage: every session knows what it came from. What autograd is to tensors, lineage is to
// sessions: the graph is not drawn beforehand, it grows as plain code runs, and says later
// which branch an answer came through and what each one cost.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store/jsonl"
)

// agent is a layer that gives one answer.
func agent(name, answer string) *flow.Agent {
	return &flow.Agent{Name: name, Model: live.Or(scripted.New(
		scripted.Reply{Text: answer, Usage: &session.Usage{Input: 20, Output: 5}}))}
}

// A fork shares all of its chunks with what it comes from, and a merge keeps what the
// branches have in common once. [flow.Parallel] does all of this in one line.
func branch(ctx context.Context, question session.Session) (session.Session, error) {
	bold, err := agent("bold", "Leaf & Thunder").Forward(ctx, question.Fork())
	if err != nil {
		return bold, err
	}
	calm, err := agent("calm", "The Quiet Cup").Forward(ctx, question.Fork())
	if err != nil {
		return calm, err
	}
	return session.Merge(bold, calm)
}

// A [graph.Graph] answers questions about where sessions come from, and draws itself: as text
// like git log --graph, and as SVG, DOT and Mermaid. Sessions that are detached let their
// parents go, as tensors do.
func inspect(w io.Writer, s session.Session) error {
	g := graph.Of(s)
	if err := g.WriteText(w, nil); err != nil {
		return err
	}
	total := g.Totals(s.ID())
	fmt.Fprintln(w, total.Sessions, "sessions,", total.Usage.Total(), "tokens, each counted once")

	alone := s.Detach()
	fmt.Fprintln(w, "detached:", graph.Of(alone).Len(), "session, the same transcript:", alone.Digest() == s.Digest())
	return nil
}

// The file of a session is OpenRath's: a header with the parents, a line for each chunk, and
// a trailer. Either of the two reads what the other has written.
func export(w io.Writer, s session.Session) error {
	file, err := jsonl.Encode(s, time.Now())
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := file.Write(&b); err != nil {
		return err
	}
	read, err := jsonl.Read(strings.NewReader(b.String()), "exported")
	if err != nil {
		return err
	}
	again, err := read.Session()
	fmt.Fprintln(w, "exported:", strings.Count(b.String(), "\n"), "lines; read again, the same:", again.Digest() == s.Digest())
	return err
}

// Ids and times are numbered here, so that the drawing is the same each time. Otherwise they
// are like any other: a UUID and the clock.
func numbered() session.Mint {
	n := byte(0)
	return func() (session.ID, time.Time) {
		n++
		return session.ID{n}, time.Date(2026, 5, 4, 12, 0, int(n), 0, time.UTC)
	}
}

func main() {
	question := session.Session{}.WithMint(numbered()).Append(session.User(session.Text("A name for a tea shop?")))
	both, err := branch(context.Background(), question)
	if err != nil {
		log.Fatal(err)
	}
	for i, c := range both.All() {
		fmt.Println(i, c.Kind(), c.Text())
	}
	for _, show := range []func(io.Writer, session.Session) error{inspect, export} {
		if err := show(os.Stdout, both); err != nil {
			log.Fatal(err)
		}
	}
}

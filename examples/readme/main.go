package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

type Report struct{ Count, Note *flow.Agent } // a struct is a module

func (r *Report) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	s, err := r.Count.Forward(ctx, s)
	if err != nil {
		return s, err
	}
	return r.Note.Forward(ctx, s.Append(session.User(session.Text("Write \""+s.Text()+"\" to note.txt"))))
}

func main() {
	count := tool.New("word_count", "Count the words of a text.", func(_ context.Context, in struct {
		Text string `json:"text" jsonschema:"the text to count"`
	}) (int, error) {
		return len(strings.Fields(in.Text)), nil
	})
	model := live.Or(offline.New()) // or openai.Open("gpt-5.5", &openai.Options{APIKey: key})
	report := &Report{
		Count: &flow.Agent{Name: "count", Model: model, Tools: tool.Set{count}},
		Note:  &flow.Agent{Name: "note", Model: model, Tools: builtin.All()},
	}
	dir, _ := os.MkdirTemp("", "rath")
	defer os.RemoveAll(dir)
	sb, err := local.Open(context.Background(), dir, nil) // where the tools run
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	in := session.FromUser("Count the words in: Rath makes agents traceable.").To(sb)
	out, err := report.Forward(context.Background(), in)
	fmt.Println(out.Text(), err)
}

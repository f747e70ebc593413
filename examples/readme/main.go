package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/builtin"
)

type text struct{ Text string }

func count(_ context.Context, in text) (int, error) { return len(strings.Fields(in.Text)), nil }

func ask(_ context.Context, s session.Session) (session.Session, error) {
	return s.Append(session.User(session.Text("Write \"" + s.Text() + "\" to note.txt"))), nil
}

func main() {
	ctx, model := context.Background(), offline.New() // or openai.Open("gpt-5.5", nil)
	report := flow.Sequence{
		&flow.Agent{Name: "count", Model: model, Tools: tool.Set{tool.New("word_count", "Count words.", count)}},
		flow.Func(ask),
		&flow.Agent{Name: "note", Model: model, Tools: builtin.All()},
	}
	sb, err := local.Open(ctx, ".", nil) // where the tools run
	if err != nil {
		panic(err)
	}
	defer sb.Close()
	out, err := report.Forward(ctx, session.FromUser("Count the words in: Rath makes agents traceable.").To(sb))
	fmt.Println(out.Text(), err)
}

package main

import (
	"context"
	"fmt"
	"os"
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

// Report is a workflow: a struct whose fields are its children, and a Forward of plain Go.
type Report struct{ Count, Note *flow.Agent }

func (r *Report) Forward(ctx context.Context, s session.Session) (session.Session, error) {
	s, err := r.Count.Forward(ctx, s)
	if err != nil {
		return s, err
	}
	return r.Note.Forward(ctx, s.Append(session.User(session.Text("Write \""+s.Text()+"\" to note.txt"))))
}

func main() {
	ctx, model := context.Background(), offline.New() // needs no key; a real one is below
	report := &Report{
		Count: &flow.Agent{Name: "count", Model: model, Tools: tool.Set{tool.New("word_count", "Count words.", count)}},
		Note:  &flow.Agent{Name: "note", Model: model, Tools: tool.Set{builtin.All().Find("write_workspace_file")}},
	}
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	sb, err := local.Open(ctx, dir, nil) // where the tools run
	if err != nil {
		panic(err)
	}
	defer sb.Close()
	out, err := report.Forward(ctx, session.FromUser("Count the words in: Rath makes agents traceable.").To(sb))
	fmt.Println(out.Text(), err)
	_ = flow.Fprint(os.Stdout, report) // as print(model) does
}

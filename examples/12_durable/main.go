// A durable run: kill it, start it again, and it goes on where it was. What had
// happened is not done twice.
//
//	go run ./examples/12_durable        # kill it with Ctrl-\ while it works, and repeat
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/examples/live"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/tool"
)

var (
	file = flag.String("store", ".openrath/example12.db", "where the run is kept")
	step = flag.Duration("step", time.Second, "how long a letter takes")
)

// letters is an agent that posts five letters, slowly. Posting is idempotent: the post
// office knows a letter by its number.
func letters() *flow.Agent {
	post := tool.New("post", "Post a letter.", func(ctx context.Context, in struct {
		Number int `json:"number"`
	}) (string, error) {
		fmt.Println("posting letter", in.Number)
		select {
		case <-time.After(*step):
			return "posted", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	post.Class = effect.Idempotent
	model := scripted.Func(func(req *llm.Request) scripted.Reply {
		posted := 0
		for _, c := range req.Messages.All() {
			if c.Kind() == session.KindToolResult {
				posted++
			}
		}
		if posted == 5 {
			return scripted.Reply{Text: "All five letters are posted."}
		}
		return scripted.Reply{Calls: []session.Call{scripted.Call("post", fmt.Sprintf(`{"number":%d}`, posted+1))}}
	})
	return &flow.Agent{Name: "clerk", Model: live.Or(model), Tools: tool.Set{post}}
}

func main() {
	agent := letters()
	ctx := context.Background()
	st, err := sqlite.Open(ctx, *file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()
	out, err := post(ctx, st, agent)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
}

// post resumes the run that was killed, or starts one.
func post(ctx context.Context, st store.Store, agent flow.Workflow) (session.Session, error) {
	runner := run.New(st, nil)
	runner.Register("letters", agent)
	resumed, err := runner.Recover(ctx)
	if err != nil && !errors.Is(err, run.ErrUnknownWorkflow) {
		return session.Session{}, err
	}
	if len(resumed) > 0 {
		fmt.Println("going on with run", resumed[0].ID())
		return resumed[0].Wait()
	}
	h, err := runner.Start(ctx, "letters", agent, session.FromUser("Post five letters."))
	if err != nil {
		return session.Session{}, err
	}
	return h.Wait()
}

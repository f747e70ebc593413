// Durable runs: kill the program, start it again, and it goes on where it was. Every effect is
// kept as it happens, so that what had happened is not done twice. A checkpoint of a training
// loop does as much for weights; here it is the loop that comes back, and user code is plain Go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// To kill it yourself, have it take its time and keep its store:
//
//	go run ./examples/12_durable -store letters.db -step 1s    # press Ctrl-C, look, and go on:
//	go run ./examples/12_durable -store letters.db -settle done
var (
	file   = flag.String("store", "", "keep the run in this file, and start or go on with one (default: show a crash)")
	step   = flag.Duration("step", 0, "how long a letter takes")
	crash  = flag.Int("crash", -1, "die with this letter in hand")
	settle = flag.String("settle", "", "what became of the letter that was in hand: done or not-done")
)

// letters is an agent that posts five letters. A letter cannot be taken back, so the call is on
// disk before it begins, and its result before anything else is done. Where a crash comes in
// between, nobody knows whether the letter went out, and the run waits until somebody says so.
// A tool whose class is [effect.Idempotent] would be called again.
func letters(model llm.Model) *flow.Agent {
	post := tool.New("post", "Post a letter.", func(ctx context.Context, in struct {
		Number int `json:"number"`
	}) (string, error) {
		if in.Number == *crash {
			os.Exit(1) // nothing is closed, nothing is said
		}
		fmt.Println("posting letter", in.Number)
		select {
		case <-time.After(*step):
			return "posted", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	post.Class = effect.Mutating // as all are that do not say otherwise
	return &flow.Agent{Name: "clerk", Model: model, Tools: tool.Set{post}}
}

// next plays a model that has the letters posted, one after the other.
func next(req *llm.Request) scripted.Reply {
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
}

// A run is a workflow that a [run.Runner] drives.
func post(ctx context.Context, model llm.Model, file, verdict string) (session.Session, error) {
	st, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return session.Session{}, err
	}
	defer st.Close()
	runner, agent := run.New(st, nil), letters(model)
	runner.Register("letters", agent)
	left, found, err := unfinished(ctx, st)
	if err != nil {
		return session.Session{}, err
	}
	if found {
		return goOn(ctx, runner, left.ID, verdict)
	}
	h, err := runner.Start(ctx, "letters", agent, session.FromUser("Post five letters."))
	if err != nil {
		return session.Session{}, err
	}
	return h.Wait()
}

// unfinished finds the run that an earlier start has left, also one that needs a review.
func unfinished(ctx context.Context, st store.Store) (left store.Run, found bool, err error) {
	for r, err := range st.Runs(ctx, store.RunFilter{States: []store.State{store.Queued, store.Running, store.NeedsReview}}) {
		return r, true, err
	}
	return left, false, nil
}

// known is what can be said of a letter. One that went out has the tool's result.
var known = map[string]store.Settled{
	"done":     {Verdict: store.VerdictResult, Value: []byte(`"posted"`)},
	"not-done": {Verdict: store.VerdictNotDone},
}

// The error that Resume gives lists what nobody knows, and Settle is told what became of it.
func goOn(ctx context.Context, runner *run.Runner, id session.ID, verdict string) (session.Session, error) {
	h, err := runner.Resume(ctx, id)
	var review *run.ReviewError
	if settled, ok := known[verdict]; ok && errors.As(err, &review) {
		for _, e := range review.Effects {
			settled.Effect = e.ID
			if err := runner.Settle(ctx, id, settled); err != nil {
				return session.Session{}, err
			}
		}
		h, err = runner.Resume(ctx, id)
	}
	if err != nil {
		return session.Session{}, err
	}
	fmt.Println("going on with the run")
	return h.Wait()
}

// The crash is a real one: this program once more, which dies with the third letter in hand.
// That it did not go out is known here, so the run is told.
func show(ctx context.Context, model llm.Model) (session.Session, error) {
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		return session.Session{}, err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return session.Session{}, err
	}
	file := filepath.Join(dir, "letters.db")
	dies := exec.CommandContext(ctx, self, slices.Concat(os.Args[1:], []string{"-store", file, "-crash", "3"})...)
	dies.Stdout, dies.Stderr = os.Stdout, os.Stderr
	if err = dies.Run(); err == nil {
		return session.Session{}, errors.New("the model came to no third letter")
	}
	fmt.Println("the program is gone:", err)
	return post(ctx, model, file, "not-done")
}

func main() {
	ctx, model := context.Background(), live.Or(scripted.Func(next))
	work := func() (session.Session, error) { return post(ctx, model, *file, *settle) }
	if *file == "" {
		work = func() (session.Session, error) { return show(ctx, model) }
	}
	out, err := work()
	if errors.As(err, new(*run.ReviewError)) {
		log.Fatal(err, "\nlook whether it was posted, then say -settle done or -settle not-done")
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out.Text())
}

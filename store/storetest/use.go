package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

var useRules = []rule{
	{"many use it at once", manyUse},
	{"collecting beside writing loses nothing", collectBeside},
	{"what is removed is there or is not found", collectBesideReading},
	{"closing waits for what is being written", closeWaits},
	{"a closed store says so", closedSaysSo},
}

func manyUse(t *test) {
	base := session.New(session.User(session.Text("base")), session.User(session.Text("more")))
	var wg sync.WaitGroup
	runs := make([]*driven, 8)
	last := make([]session.Session, len(runs))
	for i := range runs {
		runs[i] = t.start()
	}
	for i, r := range runs {
		wg.Go(func() {
			s := base.Fork()
			for n := range 25 {
				s = s.Append(session.User(session.Text(fmt.Sprintf("%d of %d", n, i%3)))) // some are alike
				c := t.Append(t.Context(), r.Lease, store.Batch{Events: r.events(t, 1), Sessions: []session.Session{s}})
				if _, err := t.Renew(t.Context(), r.Lease, time.Hour); err != nil {
					t.Error(err)
				}
				if err := c.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if _, err := t.Session(t.Context(), s.ID()); err != nil {
					t.Error(err)
				}
			}
			last[i] = s
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				for _, err := range t.Heads(t.Context(), store.SessionFilter{Newest: true, Limit: 20}) {
					if err != nil {
						t.Error(err)
					}
				}
				for _, err := range t.Runs(t.Context(), store.RunFilter{}) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	for i, r := range runs {
		t.equal(r.head, t.read(r.ID).Head, "the head")
		if n := len(all(t, t.Events(t.Context(), r.ID, 0))); n != 26 {
			t.Errorf("%d events", n)
		}
		t.same(last[i], "the last session")
	}
}

func collectBeside(t *test) {
	var wg sync.WaitGroup
	last := make([]session.Session, 4)
	for i := range last {
		wg.Go(func() {
			s := session.FromUser("base")
			for n := range 40 {
				s = s.Append(session.User(session.Text(fmt.Sprint(i, " ", n))))
				if err := t.PutSessions(t.Context(), s); err != nil {
					t.Error(err)
				}
			}
			last[i] = s
		})
	}
	wg.Go(func() {
		for range 10 {
			if _, err := t.Collect(t.Context(), store.Collection{Before: noon}); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for _, s := range last {
		t.same(s, "a session kept beside collections")
		for a := range s.Ancestors() {
			t.same(a, "an ancestor kept beside collections")
		}
	}
}

func collectBesideReading(t *test) {
	s := aged(0, "old", "")
	s = aged(1, "child", "", s)
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if _, err := t.Session(t.Context(), s.ID()); err != nil && !errors.Is(err, store.ErrNotFound) {
					t.Error(err)
				}
			}
		})
	}
	for range 30 {
		t.put(s)
		if _, err := t.Collect(t.Context(), store.Collection{Before: noon.Add(24 * time.Hour)}); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

func closeWaits(t *test) {
	r := t.start()
	var commits []store.Commit
	for range 100 {
		commits = append(commits, t.Append(t.Context(), r.Lease, store.Batch{Events: r.events(t, 1)}))
	}
	t.ok(t.Close())
	for _, c := range commits {
		select {
		case err := <-c:
			t.ok(err)
		default:
			t.Fatal("a batch from before Close has no answer after it")
		}
	}
}

func closedSaysSo(t *test) {
	r := t.start()
	t.ok(t.Close())
	ctx, id := context.WithoutCancel(t.Context()), r.ID
	for name, err := range map[string]error{
		"PutSessions": t.PutSessions(ctx, rich()),
		"Session":     second(t.Session(ctx, id)),
		"Heads":       firstError(t.Heads(ctx, store.SessionFilter{})),
		"PutObject":   second(t.PutObject(ctx, []byte("x"))),
		"Object":      second(t.Object(ctx, session.Digest{})),
		"CreateRun":   t.CreateRun(ctx, store.Run{ID: session.New().ID()}, store.Batch{}).Wait(ctx),
		"Run":         second(t.Store.Run(ctx, id)),
		"Runs":        firstError(t.Runs(ctx, store.RunFilter{})),
		"Acquire":     second(t.Acquire(ctx, id, "me", time.Hour, 0)),
		"Renew":       second(t.Renew(ctx, r.Lease, time.Hour)),
		"Release":     t.Release(ctx, r.Lease),
		"CancelRun":   t.CancelRun(ctx, id),
		"Append":      t.append(r.Lease, store.Batch{Events: r.events(t, 1)}),
		"Events":      firstError(t.Events(ctx, id, 0)),
		"Ask":         t.Ask(ctx, store.Interrupt{Run: id}),
		"Decide":      t.Decide(ctx, id, "k", nil, "me"),
		"Interrupts":  firstError(t.Interrupts(ctx, id)),
		"Collect":     second(t.Collect(ctx, store.Collection{})),
	} {
		t.fails(err, store.ErrClosed, name+" after Close")
	}
}

func second[V any](_ V, err error) error { return err }

func firstError[V any](seq func(func(V, error) bool)) (first error) {
	for _, err := range seq {
		return err
	}
	return nil
}

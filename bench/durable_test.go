package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
)

func openStore(b *testing.B) store.Store {
	st, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "rath.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// A durable run of one step: an agent that answers at once.
func BenchmarkDurableRun(b *testing.B) {
	for _, parallel := range []int{1, 64} {
		b.Run(fmt.Sprint(parallel), func(b *testing.B) {
			r := run.New(openStore(b), nil)
			agent := &flow.Agent{Prompt: "Be brief.", Model: scripted.Func(func(*llm.Request) scripted.Reply {
				return scripted.Reply{Text: "The answer is 42.", Usage: &session.Usage{Input: 20, Output: 6}}
			})}
			var mu sync.Mutex
			var took []time.Duration
			b.ReportAllocs()
			b.ResetTimer()
			share(b.N, parallel, func(int) {
				begin := time.Now()
				h, err := r.Start(context.Background(), "one", agent, session.FromUser("What is the answer?"))
				if err == nil {
					_, err = h.Wait()
				}
				if err != nil {
					b.Error(err)
				}
				mu.Lock()
				took = append(took, time.Since(begin))
				mu.Unlock()
			})
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// share calls fn n times from so many goroutines.
func share(n, parallel int, fn func(worker int)) {
	var wg sync.WaitGroup
	for w := range parallel {
		wg.Go(func() {
			for range (n + parallel - 1 - w) / parallel {
				fn(w)
			}
		})
	}
	wg.Wait()
}

// Effects of runs that have begun: a mutating one waits for its intent and for its
// result; a read-only one waits for neither.
func BenchmarkEffects(b *testing.B) {
	for _, class := range []effect.Class{effect.Mutating, effect.ReadOnly} {
		for _, parallel := range []int{1, 16, 128} {
			b.Run(fmt.Sprintf("%s/%d", class, parallel), func(b *testing.B) { benchEffects(b, class, parallel) })
		}
	}
}

func benchEffects(b *testing.B, class effect.Class, parallel int) {
	r := run.New(openStore(b), nil)
	begin := make(chan struct{})
	var handles []*run.Handle
	for w := range parallel {
		n := (b.N + parallel - 1 - w) / parallel
		steps := flow.Func(func(ctx context.Context, s session.Session) (session.Session, error) {
			<-begin
			for i := range n {
				_, err := effect.Do(ctx, effect.Call{Kind: "step", Name: "bench", Input: i, Class: class},
					func(context.Context) (string, error) { return "a result of some forty bytes, as they come", nil })
				if err != nil {
					return s, err
				}
			}
			return s, nil
		})
		h, err := r.Start(b.Context(), fmt.Sprint("steps", w), steps, session.FromUser("x"))
		if err != nil {
			b.Fatal(err)
		}
		handles = append(handles, h)
	}
	b.ResetTimer()
	close(begin)
	for _, h := range handles {
		if _, err := h.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "effects/s")
}

package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// using answers every request with a reply that has used so many tokens.
func using(tokens int64) llm.Model {
	return scripted.Func(func(*llm.Request) scripted.Reply {
		return scripted.Reply{Text: "ok", Usage: &session.Usage{Input: tokens}}
	})
}

func guess(tokens int) func(*llm.Request) int { return func(*llm.Request) int { return tokens } }

// ask collects one reply.
func ask(ctx context.Context, m llm.Model) (llm.Reply, error) {
	return llm.Collect(m.Stream(ctx, &llm.Request{Messages: session.FromUser("x").Transcript()}))
}

// must wants a reply.
func must(t *testing.T, m llm.Model) llm.Reply {
	t.Helper()
	r, err := ask(t.Context(), m)
	if err != nil {
		t.Error(err)
	}
	return r
}

func TestWrappersConform(t *testing.T) {
	for name, wrap := range map[string]func(llm.Model) llm.Model{
		"limit": func(m llm.Model) llm.Model {
			return &llm.Limit{Model: m, Limiter: &llm.Limiter{Requests: 1e6, Tokens: 1e9}}
		},
		"no limit": func(m llm.Model) llm.Model { return &llm.Limit{Model: m} },
		"fallback": func(m llm.Model) llm.Model { return &llm.Fallback{Models: []llm.Model{m}} },
		"priced":   func(m llm.Model) llm.Model { return &llm.Priced{Model: m} },
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestModel(t, func(_ *testing.T, replies ...scripted.Reply) llm.Model {
				m := scripted.New(replies...)
				if name == "fallback" { // its errors name the model that failed
					return renamed{wrap(m), m.String()}
				}
				return wrap(m)
			}, nil)
		})
	}
	t.Run("cache", func(t *testing.T) { // no usage: the suite asks the same twice, and wants two answers
		llmtest.TestModel(t, func(_ *testing.T, replies ...scripted.Reply) llm.Model {
			return &llm.Cache{Model: scripted.New(replies...)}
		}, &llmtest.Options{NoUsage: true})
	})
}

// renamed is a model under another name.
type renamed struct {
	llm.Model
	name string
}

func (m renamed) String() string { return m.name }

// A minute's worth goes at once, the rest as the bucket is refilled.
func TestLimitRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, limiter := time.Now(), &llm.Limiter{Requests: 6}
		a, b := &llm.Limit{Model: using(1), Limiter: limiter}, &llm.Limit{Model: using(1), Limiter: limiter}
		var got []time.Duration
		for i := range 10 {
			must(t, []llm.Model{a, b}[i%2])
			got = append(got, time.Since(begin).Round(time.Millisecond))
		}
		want := []time.Duration{0, 0, 0, 0, 0, 0, 10 * time.Second, 20 * time.Second, 30 * time.Second, 40 * time.Second}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// What was guessed does not count in the end, what the server counted does.
func TestLimitTokens(t *testing.T) {
	for _, test := range []struct {
		name    string
		guess   int
		used    int64
		waits   time.Duration // of the third request
		reports bool
	}{
		{"as guessed", 500, 500, 30 * time.Second, true},
		{"guessed too much", 500, 100, 0, true},
		{"guessed too little", 100, 600, 18 * time.Second, true}, // 200 in debt, and 100 to be there
		{"nobody counted", 500, 0, 30 * time.Second, false},
		{"larger than the bucket", 5000, 1000, 120 * time.Second, true},
		{"far more than the bucket", 100, 3500, 366 * time.Second, true}, // 2500 in debt, and then 3400
		{"beyond belief", 100, math.MaxInt64, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reply := scripted.Reply{Text: "ok", Usage: &session.Usage{Input: test.used}}
				if !test.reports {
					reply.Usage = nil
				}
				m := &llm.Limit{Model: scripted.New(reply, reply, reply), Limiter: &llm.Limiter{Tokens: 1000}, Estimate: guess(test.guess)}
				begin := time.Now()
				if test.name == "beyond belief" { // an hour's worth of debt, not a life's
					must(t, m)
					must(t, m)
					if took := time.Since(begin); took < 30*time.Minute || took > 62*time.Minute {
						t.Errorf("it waited %v", took)
					}
					return
				}
				for range 3 {
					must(t, m)
				}
				if took := time.Since(begin).Round(time.Second); took != test.waits {
					t.Errorf("it waited %v, want %v", took, test.waits)
				}
			})
		})
	}
}

// Tokens that come back are given on at once.
func TestLimitGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := scripted.New(scripted.Reply{Text: "ok", Delay: 2 * time.Second, Usage: &session.Usage{Input: 10}})
		limiter, begin := &llm.Limiter{Tokens: 1000}, time.Now()
		go must(t, &llm.Limit{Model: slow, Limiter: limiter, Estimate: guess(1000)})
		synctest.Wait()
		must(t, &llm.Limit{Model: using(1), Limiter: limiter, Estimate: guess(900)})
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("it waited %v", took)
		}
	})
}

// A request that the server refused has cost no tokens; one that broke off may have.
func TestLimitFailures(t *testing.T) {
	for kind, want := range map[llm.ErrorKind]time.Duration{
		llm.ErrRateLimit: 0, llm.ErrBadRequest: 0, llm.ErrAuth: 0, llm.ErrServer: time.Minute, llm.ErrConnection: time.Minute,
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &llm.Limit{Model: scripted.New(failing(kind, 0), scripted.Reply{Text: "ok"}), Limiter: &llm.Limiter{Tokens: 1000}, Estimate: guess(1000)}
			begin := time.Now()
			if _, err := ask(t.Context(), m); err == nil {
				t.Fatal("no error")
			}
			must(t, m)
			if took := time.Since(begin).Round(time.Millisecond); took != want {
				t.Errorf("%s: it waited %v, want %v", kind, took, want)
			}
		})
	}
}

// When a server says how long to wait, everybody does, also whoever waits already.
func TestLimitRetryAfter(t *testing.T) {
	for _, test := range []struct{ after, most, want time.Duration }{
		{7 * time.Second, 0, 7 * time.Second}, {time.Hour, 0, time.Minute}, {math.MaxInt64, 0, time.Minute}, {time.Hour, 2 * time.Hour, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			limiter, begin := &llm.Limiter{MaxRetryAfter: test.most, Requests: 60}, time.Now()
			var wg sync.WaitGroup
			for _, after := range []time.Duration{test.after, time.Second} { // the longer one counts
				failed := &llm.Limit{Model: scripted.New(scripted.Reply{Delay: time.Millisecond, Error: &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: after}}), Limiter: limiter}
				wg.Go(func() {
					if _, err := ask(t.Context(), failed); err == nil {
						t.Error("no error")
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			for range 3 {
				wg.Go(func() {
					must(t, &llm.Limit{Model: using(1), Limiter: limiter})
					if took := time.Since(begin) - time.Millisecond; took != test.want {
						t.Errorf("it waited %v, want %v", took, test.want)
					}
				})
			}
			wg.Wait()
		})
	}
}

// Inside a Retry each attempt waits in line; around one, attempts are counted.
func TestLimitAndRetry(t *testing.T) {
	replies := func() llm.Model {
		return scripted.New(failing(llm.ErrRateLimit, 5*time.Second), failing(llm.ErrServer, 0), scripted.Reply{Text: "ok"})
	}
	for name, build := range map[string]func(*llm.Limiter) llm.Model{
		"inside": func(l *llm.Limiter) llm.Model { return &llm.Retry{Model: &llm.Limit{Model: replies(), Limiter: l}} },
		"around": func(l *llm.Limiter) llm.Model { return &llm.Limit{Model: &llm.Retry{Model: replies()}, Limiter: l} },
	} {
		synctest.Test(t, func(t *testing.T) {
			limiter := &llm.Limiter{Requests: 3}
			if r := must(t, build(limiter)); len(r.Attempts) != 2 {
				t.Errorf("%s: %d attempts", name, len(r.Attempts))
			}
			begin := time.Now()
			must(t, &llm.Limit{Model: using(1), Limiter: limiter})
			if took := time.Since(begin); took < 10*time.Second || took > 20*time.Second { // three are gone, about 8 s ago
				t.Errorf("%s: the fourth request waited %v", name, took)
			}
		})
	}
}

// Nobody is overtaken: a large request that waits is not passed by small ones.
func TestLimitIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &llm.Limiter{Tokens: 600}
		must(t, &llm.Limit{Model: using(600), Limiter: limiter, Estimate: guess(600)})
		var mu sync.Mutex
		var order []int
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				size := 1
				if i == 0 {
					size = 500
				}
				must(t, &llm.Limit{Model: using(int64(size)), Limiter: limiter, Estimate: guess(size)})
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
			})
			synctest.Wait() // in line
		}
		wg.Wait()
		if !slices.IsSorted(order) {
			t.Errorf("they came through as %v", order)
		}
	})
}

// However many ask, no minute has more than the bucket and what is refilled meanwhile.
func TestLimitBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, n = 30, 200
		limiter, begin := &llm.Limiter{Requests: limit, Tokens: limit * 10}, time.Now()
		var mu sync.Mutex
		var at []time.Duration
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				must(t, &llm.Limit{Model: using(10), Limiter: limiter, Estimate: guess(7)})
				mu.Lock()
				defer mu.Unlock()
				at = append(at, time.Since(begin))
			})
		}
		wg.Wait()
		slices.Sort(at)
		for i, when := range at {
			if may := limit + int(when.Minutes()*limit+1e-6); i+1 > may+1 {
				t.Fatalf("%d requests within %v", i+1, when)
			}
		}
		if want := time.Duration(n-limit) * 2 * time.Second; at[n-1] > want+time.Second {
			t.Errorf("it took %v, want %v", at[n-1], want)
		}
	})
}

// Whoever gives up leaves the line, and takes nothing along.
func TestLimitObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &llm.Limiter{Requests: 1}
		m := &llm.Limit{Model: using(1), Limiter: limiter}
		must(t, m)
		begin := time.Now()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err := ask(ctx, m)
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != llm.ErrTimeout || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != 10*time.Second {
					t.Errorf("after %v: %v", time.Since(begin), err)
				}
			})
		}
		wg.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := ask(ctx, m); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		must(t, m)
		if took := time.Since(begin).Round(time.Millisecond); took != time.Minute {
			t.Errorf("the next request came through after %v", took)
		}
	})
}

// A reader that leaves gives the estimate back no more than it must.
func TestLimitLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &llm.Limit{Model: using(1), Limiter: &llm.Limiter{Tokens: 1000}, Estimate: guess(1000)}
		for range m.Stream(t.Context(), &llm.Request{}) {
			break
		}
		begin := time.Now()
		must(t, m)
		if took := time.Since(begin).Round(time.Second); took != time.Minute {
			t.Errorf("it waited %v", took)
		}
	})
}

func TestLimiters(t *testing.T) {
	var all llm.Limiters
	var wg sync.WaitGroup
	got := make([]*llm.Limiter, 16)
	for i := range got {
		wg.Go(func() { got[i] = all.Of(fmt.Sprint("provider ", i%2), 10, 20) })
	}
	wg.Wait()
	for i, l := range got {
		if l != got[i%2] || l.Requests != 10 || l.Tokens != 20 {
			t.Errorf("%d: %p", i, l)
		}
	}
	if got[0] == got[1] || all.Of("provider 0", 1, 2) != got[0] {
		t.Error("a key is a limiter, whoever asks")
	}
}

func TestEstimateTokens(t *testing.T) {
	text := func(n int) session.Part { return session.Text(string(make([]byte, n))) }
	for _, test := range []struct {
		name string
		req  llm.Request
		want int
	}{
		{"nothing", llm.Request{}, 1000},
		{"text and prompt", llm.Request{Prompt: session.New(session.System(text(400))).Transcript(), Messages: session.New(session.User(text(401))).Transcript()}, 201 + 1000},
		{"bounded reply", llm.Request{Params: llm.Params{MaxCompletionTokens: 50, ThinkingTokens: 7}}, 57},
		{"media", llm.Request{Messages: session.New(session.User(session.Image("image/png", make([]byte, 1<<20)), session.ImageURL("https://x/y"), session.File("a.txt", "text/plain", make([]byte, 40)))).Transcript()}, 2010 + 1000},
		{"calls and tools", llm.Request{
			Messages: session.New(session.Assistant(nil, session.Call{ID: "c", Name: "name", Arguments: "{}  "}), session.ToolResult(session.Answer{CallID: "c"}, text(8))).Transcript(),
			Tools:    []llm.Tool{{Name: "name", Schema: json.RawMessage(`{"a": 1}`)}},
		}, 7 + 1000},
	} {
		if got := llm.EstimateTokens(&test.req); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// Two models share what their provider allows.
func ExampleLimit() {
	var limiters llm.Limiters
	provider := limiters.Of("openai", 500, 200_000) // requests and tokens a minute
	small := &llm.Retry{Model: &llm.Limit{Model: scripted.New(scripted.Reply{Text: "small"}), Limiter: provider}}
	large := &llm.Retry{Model: &llm.Limit{Model: scripted.New(scripted.Reply{Text: "large"}), Limiter: provider}}
	for _, m := range []llm.Model{small, large} {
		reply, err := llm.Collect(m.Stream(context.Background(), &llm.Request{}))
		fmt.Println(reply.Chunk.Text(), err)
	}
	// Output:
	// small <nil>
	// large <nil>
}

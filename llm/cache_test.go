package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// counting answers with what fn makes of the number of the call.
func counting(calls *atomic.Int64, fn func(n int64) scripted.Reply) llm.Model {
	return scripted.Func(func(*llm.Request) scripted.Reply { return fn(calls.Add(1)) })
}

// numbered is a reply that tells which call it answers.
func numbered(n int64) scripted.Reply {
	return scripted.Reply{
		Reasoning: "why", Extra: `{"signature":"s"}`, Text: fmt.Sprint("reply ", n),
		Calls: []session.Call{{ID: "c", Name: "f", Arguments: `{"a":1}`}}, Usage: &session.Usage{Input: 10, Output: 5, Cost: session.Cost{Unpriced: 1}},
	}
}

func TestCache(t *testing.T) {
	var calls atomic.Int64
	m := &llm.Cache{Model: &llm.Retry{Model: counting(&calls, func(n int64) scripted.Reply {
		if n == 1 {
			return failing(llm.ErrServer, 0)
		}
		return numbered(n)
	}), Base: time.Nanosecond}}
	first, again := must(t, m), must(t, m)
	if calls.Load() != 2 || !again.Chunk.Equal(first.Chunk) || again.Stop != first.Stop || m.String() != "scripted:" {
		t.Errorf("%d calls: %v and %v", calls.Load(), first, again)
	}
	if first.Cached || first.Usage.Calls != 1 || first.Usage.Input != 10 || len(first.Attempts) != 1 {
		t.Errorf("the first is %+v", first)
	}
	if !again.Cached || again.Usage != (session.Usage{}) || len(again.Attempts) != 0 {
		t.Errorf("the second is %+v", again)
	}
	data, err := json.Marshal(again)
	var back llm.Reply
	if err != nil || json.Unmarshal(data, &back) != nil || !back.Cached {
		t.Errorf("a journal would give back %+v, %v", back, err)
	}
}

// Requests that differ in anything are different.
func TestCacheTellsApart(t *testing.T) {
	image := func(data string) session.Session {
		return session.New(session.User(session.Image("image/png", []byte(data))))
	}
	requests := []llm.Request{
		{},
		{Prompt: session.FromUser("x").Transcript()},
		{Messages: session.FromUser("x").Transcript()},
		{Messages: session.FromUser("y").Transcript()},
		{Messages: image("a").Transcript()},
		{Messages: image("b").Transcript()},
		{Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage("{}")}}},
		{Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}},
		{Params: llm.Params{MaxTokens: 1}},
		{Params: llm.Params{Temperature: new(float64)}},
		{Params: llm.Params{ResponseFormat: llm.ResponseFormat{Type: "json_object"}}},
		{Params: llm.Params{Extra: map[string]json.RawMessage{"a": json.RawMessage("1")}}},
	}
	var calls atomic.Int64
	store := &llm.MemoryCache{}
	for _, name := range []string{"a:", "b:"} {
		for round := range 2 {
			for i := range requests {
				m := &llm.Cache{Model: renamed{counting(&calls, numbered), name}, Store: store}
				r, err := llm.Collect(m.Stream(t.Context(), &requests[i]))
				if err != nil || r.Cached != (round == 1) {
					t.Errorf("%s request %d, round %d: %+v, %v", name, i, round, r, err)
				}
			}
		}
	}
	if want := int64(2 * len(requests)); calls.Load() != want {
		t.Errorf("%d calls, want %d", calls.Load(), want)
	}
}

// What is not whole, or asks for variety, is asked anew.
func TestCacheKeepsOnlyWhole(t *testing.T) {
	warm := 0.7
	for name, test := range map[string]struct {
		reply   scripted.Reply
		params  llm.Params
		sampled bool
		kept    bool
	}{
		"whole":             {numbered(1), llm.Params{}, false, true},
		"cut off":           {scripted.Reply{Text: "and so", Stop: llm.StopLength}, llm.Params{}, false, false},
		"filtered":          {scripted.Reply{Stop: llm.StopFilter}, llm.Params{}, false, false},
		"failed":            {failing(llm.ErrBadRequest, 0), llm.Params{}, false, false},
		"cold":              {numbered(1), llm.Params{Temperature: new(float64)}, false, true},
		"warm":              {numbered(1), llm.Params{Temperature: &warm}, false, false},
		"warm, as is asked": {numbered(1), llm.Params{Temperature: &warm}, true, true},
	} {
		var calls atomic.Int64
		m := &llm.Cache{Model: counting(&calls, func(int64) scripted.Reply { return test.reply }), Sampled: test.sampled}
		for range 3 {
			_, _ = llm.Collect(m.Stream(t.Context(), &llm.Request{Params: test.params}))
		}
		if kept := calls.Load() == 1; kept != test.kept {
			t.Errorf("%s: %d calls", name, calls.Load())
		}
	}
	cut := playing{"cut:", []llm.Delta{{Text: "half"}}, nil, new(int)}
	m := &llm.Cache{Model: cut}
	for range 2 {
		if _, err := ask(t.Context(), m); err == nil {
			t.Error("a stream without an end is no error")
		}
	}
	if *cut.asked != 2 {
		t.Errorf("a stream without an end was kept: asked %d times", *cut.asked)
	}
	left := &llm.Cache{Model: playing{"left:", whole, nil, new(int)}}
	for range left.Stream(t.Context(), &llm.Request{}) {
		break
	}
	if r, err := llm.Collect(left.Stream(t.Context(), &llm.Request{})); err != nil || r.Cached || r.Chunk.Text() != "answer" {
		t.Errorf("after a reader that left: %+v, %v", r, err)
	}
}

// Equal requests at the same time are one call.
func TestCacheShares(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var calls, cached, failed atomic.Int64
			m := &llm.Cache{Model: counting(&calls, func(n int64) scripted.Reply {
				r := numbered(n)
				if r.Delay = time.Second; fails {
					r.Error = &llm.Error{Kind: llm.ErrServer}
				}
				return r
			})}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					r, err := ask(t.Context(), m)
					if r.Cached {
						cached.Add(1)
					}
					var e *llm.Error
					if errors.As(err, &e) && e.Kind == llm.ErrServer {
						failed.Add(1)
					}
					if !fails && r.Chunk.Text() != "reply 1" {
						t.Errorf("%v, %v", r, err)
					}
				})
			}
			wg.Wait()
			if wantCached, wantFailed := map[bool]int64{false: 49}[fails], map[bool]int64{true: 50}[fails]; calls.Load() != 1 || cached.Load() != wantCached || failed.Load() != wantFailed {
				t.Errorf("%d calls, %d cached, %d failed", calls.Load(), cached.Load(), failed.Load())
			}
		})
	}
}

// When the first gives up, the next one asks; those who wait can give up too.
func TestCacheGivenUp(t *testing.T) {
	for name, giveUp := range map[string]func(context.Context, llm.Model){
		"cancelled": func(ctx context.Context, m llm.Model) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			_, _ = ask(ctx, m)
		},
		"left": func(ctx context.Context, m llm.Model) {
			for range m.Stream(ctx, &llm.Request{Messages: session.FromUser("x").Transcript()}) {
				break
			}
		},
		"panicked": func(ctx context.Context, m llm.Model) {
			defer func() { _ = recover() }()
			for range m.Stream(ctx, &llm.Request{Messages: session.FromUser("x").Transcript()}) {
				panic("the reader")
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int64
			m := &llm.Cache{Model: counting(&calls, func(n int64) scripted.Reply {
				r := numbered(n)
				r.Delay = 2 * time.Second
				return r
			})}
			var wg sync.WaitGroup
			wg.Go(func() { giveUp(t.Context(), m) })
			synctest.Wait()
			for range 10 {
				wg.Go(func() {
					if r := must(t, m); r.Chunk.Text() != "reply 2" {
						t.Errorf("%s: %v", name, r)
					}
				})
			}
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				if _, err := ask(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: who waited and gave up has %v", name, err)
				}
			})
			wg.Wait()
			if calls.Load() != 2 {
				t.Errorf("%s: %d calls", name, calls.Load())
			}
		})
	}
}

// A slow reader of a known reply holds nobody up.
func TestCacheHitsDoNotWait(t *testing.T) {
	var calls atomic.Int64
	m := &llm.Cache{Model: counting(&calls, numbered)}
	must(t, m)
	for range m.Stream(t.Context(), &llm.Request{Messages: session.FromUser("x").Transcript()}) {
		must(t, m) // within the other: it would wait for ever
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

// Whatever is put in, it never holds more than it may, and the latest that fits is there.
func TestMemoryCache(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &llm.MemoryCache{Bytes: 10_000}
		known := map[session.Digest]string{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := session.Digest{rapid.Byte().Draw(t, "key") % 12}
			if rapid.Bool().Draw(t, "get") {
				if r, ok := m.Get(t.Context(), key); ok && r.Chunk.Text() != known[key] {
					t.Fatalf("%q was put, %q is there", known[key], r.Chunk.Text())
				}
				continue
			}
			size := rapid.IntRange(0, 11_000).Draw(t, "size")
			text := fmt.Sprintf("%0*d", size, rapid.IntRange(0, 9).Draw(t, "digit"))
			known[key] = text
			m.Put(t.Context(), key, llm.Reply{Chunk: session.Assistant([]session.Part{session.Text(text)})})
			if _, ok := m.Get(t.Context(), key); ok != (len(text) <= 10_000-1024) {
				t.Fatalf("a reply of %d bytes is there: %v", len(text), ok)
			}
			sum := 0
			for k := range 12 {
				if r, ok := m.Get(t.Context(), session.Digest{byte(k)}); ok {
					sum += len(r.Chunk.Text()) + 1024
				}
			}
			if sum > 10_000 {
				t.Fatalf("it holds %d bytes", sum)
			}
		}
	})
}

// The reply that was not used for the longest time makes room.
func TestMemoryCacheForgets(t *testing.T) {
	m := &llm.MemoryCache{Bytes: 3 * 1100}
	reply := llm.Reply{Chunk: session.Assistant([]session.Part{session.Text("x")})}
	for _, k := range []byte{1, 2, 3} {
		m.Put(t.Context(), session.Digest{k}, reply)
	}
	m.Get(t.Context(), session.Digest{1})
	m.Put(t.Context(), session.Digest{4}, reply)
	for k, want := range map[byte]bool{1: true, 2: false, 3: true, 4: true} {
		if _, ok := m.Get(t.Context(), session.Digest{k}); ok != want {
			t.Errorf("%d is there: %v", k, ok)
		}
	}
}

func ExampleCache() {
	m := &llm.Cache{Model: scripted.New(scripted.Reply{Text: "forty-two", Usage: &session.Usage{Input: 9, Output: 3}})}
	for range 2 {
		reply, err := llm.Collect(m.Stream(context.Background(), &llm.Request{Messages: session.FromUser("6 * 7?").Transcript()}))
		fmt.Println(reply.Chunk.Text(), reply.Usage.Total(), reply.Cached, err)
	}
	// Output:
	// forty-two 12 false <nil>
	// forty-two 0 true <nil>
}

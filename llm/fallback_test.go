package llm_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// playing yields fixed deltas and then, if there is one, an error.
type playing struct {
	name   string
	deltas []llm.Delta
	err    error
	asked  *int
}

func (p playing) String() string { return p.name }
func (p playing) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if p.asked != nil {
			*p.asked++
		}
		for _, d := range p.deltas {
			if !yield(d, nil) {
				return
			}
		}
		if p.err != nil {
			yield(llm.Delta{}, p.err)
		}
	}
}

var whole = []llm.Delta{{ID: "1", Model: "gpt-x-2026-01-02"}, {Text: "answer", Model: "gpt-x-2026-01-02"}, {Stop: llm.StopEnd}}

// It goes on where another server may not fail, and before anybody has seen anything.
func TestFallback(t *testing.T) {
	down := &llm.Error{Kind: llm.ErrServer}
	for _, test := range []struct {
		name   string
		deltas []llm.Delta
		err    error
		next   bool
	}{
		{"server", nil, down, true},
		{"connection", nil, &llm.Error{Kind: llm.ErrConnection}, true},
		{"rate limit", nil, &llm.Error{Kind: llm.ErrRateLimit, RetryAfter: time.Hour}, true},
		{"timeout", nil, &llm.Error{Kind: llm.ErrTimeout}, true},
		{"wrapped", nil, fmt.Errorf("outer: %w", down), true},
		{"key", nil, &llm.Error{Kind: llm.ErrAuth}, false},
		{"request", nil, &llm.Error{Kind: llm.ErrBadRequest}, false},
		{"protocol", nil, &llm.Error{Kind: llm.ErrMalformed}, false},
		{"something else", nil, errors.New("something else"), false},
		{"after an id", []llm.Delta{{ID: "0", Model: "lost"}, {Usage: &session.Usage{Input: 7}}}, down, true},
		{"after an attempt", []llm.Delta{{Attempt: &llm.Attempt{Number: 1, Error: down}}}, down, true},
		{"after a word", []llm.Delta{{Text: "word"}}, down, false},
		{"after a thought", []llm.Delta{{Reasoning: "hm"}}, down, false},
		{"after a signature", []llm.Delta{{Extra: "{}"}}, down, false},
		{"after a part", []llm.Delta{{Part: &session.Part{}}}, down, false},
		{"after a call", []llm.Delta{{Call: &llm.CallDelta{Name: "f"}}}, down, false},
		{"after the end", []llm.Delta{{Stop: llm.StopEnd}}, down, false},
	} {
		first, second := 0, 0
		m := &llm.Fallback{Models: []llm.Model{
			playing{"openai:a", test.deltas, test.err, &first}, playing{"azure:b", whole, nil, &second}, playing{"never:c", whole, nil, nil},
		}}
		r, err := ask(t.Context(), m)
		if first != 1 || (second == 1) != test.next || (err == nil) != test.next || !test.next && !errors.Is(err, test.err) {
			t.Errorf("%s: asked %d and %d times, %v", test.name, first, second, err)
		}
		if !test.next {
			continue
		}
		if r.Chunk.Text() != "answer" || r.Model != "azure:gpt-x-2026-01-02" || r.ID != "1" || r.Usage.Unreported != 1 {
			t.Errorf("%s: %+v", test.name, r)
		}
		for i, a := range r.Attempts {
			if a.Number != i+1 || a.Error == nil {
				t.Errorf("%s: attempt %d is %+v", test.name, i, a)
			}
		}
		if n := len(r.Attempts); n != 1 && test.name != "after an attempt" || n != 2 && test.name == "after an attempt" {
			t.Errorf("%s: %d attempts", test.name, n)
		}
	}
}

// Attempts are numbered through, whoever made them.
func TestFallbackNumbersAttempts(t *testing.T) {
	down := &llm.Error{Kind: llm.ErrServer}
	retried := []llm.Delta{{Attempt: &llm.Attempt{Number: 1, Error: down}}, {Attempt: &llm.Attempt{Number: 2, Error: down}}}
	r := must(t, &llm.Fallback{Models: []llm.Model{playing{"a:", retried, down, nil}, playing{"b:", append(retried[:1:1], whole...), nil, nil}}})
	for i, a := range r.Attempts {
		if a.Number != i+1 {
			t.Errorf("attempt %d is number %d", i+1, a.Number)
		}
	}
	if len(r.Attempts) != 4 || retried[0].Attempt.Number != 1 {
		t.Errorf("%d attempts", len(r.Attempts))
	}
}

func TestFallbackAllFail(t *testing.T) {
	last := &llm.Error{Kind: llm.ErrConnection, Model: "b:", Message: "the last"}
	m := &llm.Fallback{Models: []llm.Model{playing{"a:", nil, &llm.Error{Kind: llm.ErrServer}, nil}, playing{"b:", []llm.Delta{{ID: "9"}}, last, nil}}}
	r, err := ask(t.Context(), m)
	if err != error(last) || len(r.Attempts) != 1 || r.ID != "9" {
		t.Errorf("%+v, %v", r, err)
	}
	var e *llm.Error
	if _, err := ask(t.Context(), &llm.Fallback{}); !errors.As(err, &e) || e.Kind != llm.ErrBadRequest {
		t.Error(err)
	}
}

// A timeout that is the caller's own ends it; and so does leaving the loop.
func TestFallbackObeysItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		m := &llm.Fallback{Models: []llm.Model{scripted.New(scripted.Reply{Text: "late", Delay: time.Hour}), playing{"b:", whole, nil, &asked}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := ask(ctx, m); !errors.Is(err, context.DeadlineExceeded) || asked > 0 {
			t.Errorf("asked %d times, %v", asked, err)
		}
	})
	asked := 0
	m := &llm.Fallback{Models: []llm.Model{playing{"a:", nil, &llm.Error{Kind: llm.ErrServer}, nil}, playing{"b:", whole, nil, &asked}}}
	for d := range m.Stream(t.Context(), &llm.Request{}) {
		if d.Attempt != nil {
			break
		}
	}
	if asked > 0 {
		t.Error("it went on without a reader")
	}
	for pieces := range 5 { // left at each piece: a second yield would panic
		for range m.Stream(t.Context(), &llm.Request{}) {
			if pieces--; pieces < 0 {
				break
			}
		}
	}
}

// The reply names who answered, through whatever is around it.
func TestFallbackNames(t *testing.T) {
	silent := playing{"offline:", []llm.Delta{{Text: "x"}, {Stop: llm.StopEnd}}, nil, nil}
	down := playing{"down:", nil, &llm.Error{Kind: llm.ErrServer}, nil}
	tagged := playing{"openai:llama3:8b", []llm.Delta{{Text: "x", Model: "llama3:8b"}, {Stop: llm.StopEnd}}, nil, nil}
	for _, test := range []struct {
		m    llm.Model
		url  string
		want string
	}{
		{&llm.Fallback{Models: []llm.Model{down, silent}}, "fallback:down:,offline:", "offline:"},
		{&llm.Fallback{Models: []llm.Model{down, tagged}}, "fallback:down:,openai:llama3:8b", "openai:llama3:8b"},
		{&llm.Fallback{Models: []llm.Model{down, &llm.Retry{Model: &llm.Fallback{Models: []llm.Model{tagged}}}}}, "fallback:down:,fallback:openai:llama3:8b", "openai:llama3:8b"},
		{&llm.Fallback{Models: []llm.Model{down, &llm.Fallback{Models: []llm.Model{down, silent}}}}, "fallback:down:,fallback:down:,offline:", "offline:"},
	} {
		r := must(t, test.m)
		if test.m.String() != test.url || r.Model != test.want {
			t.Errorf("%s answered as %q, want %q", test.m, r.Model, test.want)
		}
	}
}

func ExampleFallback() {
	m := &llm.Fallback{Models: []llm.Model{
		scripted.New(scripted.Reply{Error: &llm.Error{Kind: llm.ErrServer, Message: "overloaded"}}),
		scripted.New(scripted.Reply{Text: "hello"}),
	}}
	reply, err := llm.Collect(m.Stream(context.Background(), &llm.Request{}))
	fmt.Println(reply.Chunk.Text(), err)
	fmt.Println("first:", reply.Attempts[0].Error)
	// Output:
	// hello <nil>
	// first: call model scripted:: server: overloaded
}

package llm_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
)

// answer is what one call of a fake embedder comes to.
type answer struct {
	vectors int // made before the error; with none, a text each
	err     error
}

// fakeEmbedder answers by a script, and notes what it was asked.
type fakeEmbedder struct {
	script []answer
	asked  [][]string
}

func (f *fakeEmbedder) String() string { return "fake:" }

func (f *fakeEmbedder) Embed(_ context.Context, texts []string) (vectors [][]float32, err error) {
	f.asked = append(f.asked, texts)
	a := answer{vectors: len(texts)}
	if len(f.script) > 0 {
		a, f.script = f.script[0], f.script[1:]
	}
	for _, text := range texts[:a.vectors] {
		vectors = append(vectors, []float32{float32(text[0])})
	}
	return vectors, a.err
}

func broken(kind llm.ErrorKind, after time.Duration, vectors int) answer {
	return answer{vectors, &llm.Error{Kind: kind, RetryAfter: after, Message: "no"}}
}

func TestRetryEmbedder(t *testing.T) {
	for _, test := range []struct {
		name   string
		script []answer
		retry  llm.RetryEmbedder
		asked  [][]string
		kind   llm.ErrorKind // of the error; empty: it does well
		least  time.Duration
	}{
		{name: "at once", asked: [][]string{{"a", "b", "c"}}},
		{
			name:   "all again",
			script: []answer{broken(llm.ErrServer, 0, 0), broken(llm.ErrRateLimit, 7*time.Second, 0), broken(llm.ErrConnection, 0, 0)},
			asked:  [][]string{{"a", "b", "c"}, {"a", "b", "c"}, {"a", "b", "c"}, {"a", "b", "c"}},
			least:  7 * time.Second,
		},
		{
			name:   "the rest again",
			script: []answer{broken(llm.ErrServer, 0, 1), broken(llm.ErrTimeout, 0, 0), broken(llm.ErrServer, 0, 1)},
			asked:  [][]string{{"a", "b", "c"}, {"b", "c"}, {"b", "c"}, {"c"}},
		},
		{
			name:   "no more attempts",
			script: []answer{broken(llm.ErrServer, 0, 0), broken(llm.ErrServer, 0, 0), broken(llm.ErrServer, 0, 0)},
			retry:  llm.RetryEmbedder{Attempts: 2},
			asked:  [][]string{{"a", "b", "c"}, {"a", "b", "c"}},
			kind:   llm.ErrServer,
		},
		{
			name:   "attempts count from the last vector",
			script: []answer{broken(llm.ErrServer, 0, 1), broken(llm.ErrServer, 0, 1), broken(llm.ErrServer, 0, 0)},
			retry:  llm.RetryEmbedder{Attempts: 2},
			asked:  [][]string{{"a", "b", "c"}, {"b", "c"}, {"c"}},
			kind:   llm.ErrServer,
		},
		{name: "what never does", script: []answer{broken(llm.ErrMalformed, 0, 0)}, asked: [][]string{{"a", "b", "c"}}, kind: llm.ErrMalformed},
		{name: "too long a wait", script: []answer{broken(llm.ErrRateLimit, time.Hour, 0)}, asked: [][]string{{"a", "b", "c"}}, kind: llm.ErrRateLimit},
		{
			name: "a long wait that is allowed", script: []answer{broken(llm.ErrRateLimit, time.Hour, 0)}, retry: llm.RetryEmbedder{MaxRetryAfter: time.Hour},
			asked: [][]string{{"a", "b", "c"}, {"a", "b", "c"}}, least: time.Hour,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, fake := time.Now(), &fakeEmbedder{script: test.script}
			test.retry.Embedder = fake
			got, err := test.retry.Embed(t.Context(), []string{"a", "b", "c"})
			var e *llm.Error
			if errors.As(err, &e) != (test.kind != "") || e != nil && e.Kind != test.kind {
				t.Errorf("%s: %v", test.name, err)
			}
			if diff := cmp.Diff(test.asked, fake.asked); diff != "" {
				t.Errorf("%s: what was asked:\n%s", test.name, diff)
			}
			if diff := cmp.Diff([][]float32{{'a'}, {'b'}, {'c'}}, got); err == nil && diff != "" {
				t.Errorf("%s: %s", test.name, diff)
			}
			if took := time.Since(begin); took < test.least || took > test.least+10*time.Second {
				t.Errorf("%s: it took %v", test.name, took)
			}
		})
	}
}

func TestRetryEmbedderObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		fake := &fakeEmbedder{script: []answer{broken(llm.ErrRateLimit, time.Minute, 1)}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		e := &llm.RetryEmbedder{Embedder: fake}
		got, err := e.Embed(ctx, []string{"a", "b"})
		if !errors.Is(err, context.Canceled) || time.Since(begin) != time.Second || len(got) != 1 || len(fake.asked) != 1 || e.String() != "fake:" {
			t.Errorf("after %v: %v, %v", time.Since(begin), got, err)
		}
	})
}

func TestRedact(t *testing.T) {
	s := llm.Secrets{"sk-123456789"}
	if err := s.Redact(nil); err != nil {
		t.Error(err)
	}
	err := s.Redact(&llm.Error{Kind: llm.ErrAuth, Message: "sk-123456789 is bad"})
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrAuth || e.Message != "*** is bad" {
		t.Error(err)
	}
}

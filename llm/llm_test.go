package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

func stream(deltas ...llm.Delta) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func TestCollect(t *testing.T) {
	image := session.Image("image/png", []byte("x"))
	r, err := llm.Collect(stream(
		llm.Delta{ID: "1", Model: "m"}, llm.Delta{Reasoning: "a"}, llm.Delta{Reasoning: "b"}, llm.Delta{Extra: "sig"}, llm.Delta{Reasoning: "c"},
		llm.Delta{Text: "d"}, llm.Delta{Call: &llm.CallDelta{Index: 7, Name: "f", Arguments: "{"}}, llm.Delta{Text: "e"}, llm.Delta{Part: &image},
		llm.Delta{Call: &llm.CallDelta{Index: 9, ID: "x", Name: "g"}}, llm.Delta{Call: &llm.CallDelta{Index: 7, ID: "x", Name: "f", Arguments: "}"}},
		llm.Delta{Stop: llm.StopCalls}, llm.Delta{Usage: &session.Usage{Input: 1}}, llm.Delta{Usage: &session.Usage{Input: 2}},
	))
	if err != nil {
		t.Fatal(err)
	}
	want := session.Assistant([]session.Part{session.Reasoning("ab", "sig"), session.Reasoning("c", ""), session.Text("de"), image},
		session.Call{ID: "x", Name: "f", Arguments: "{}"}, session.Call{ID: "call_1", Name: "g"})
	if !r.Chunk.Equal(want) {
		got, _ := json.Marshal(r.Chunk)
		t.Errorf("%s", got)
	}
	if r.Usage != (session.Usage{Calls: 1, Input: 2}) || r.ID != "1" || r.Model != "m" {
		t.Errorf("%+v", r)
	}
	if r, err := llm.Collect(stream(llm.Delta{Text: "half"})); err == nil || r.Chunk.Text() != "half" || r.Usage.Unreported != 1 {
		t.Errorf("a stream without a reason to stop: %v, %v", r, err)
	}
}

// Whatever comes, collecting does not panic, and a reply streamed again is the same.
func TestCollectAnything(t *testing.T) {
	text := rapid.SampledFrom([]string{"", "a", "ü", "\xff"})
	delta := rapid.Custom(func(t *rapid.T) llm.Delta {
		d := llm.Delta{Text: text.Draw(t, "text"), Reasoning: text.Draw(t, "reasoning"), Extra: text.Draw(t, "extra")}
		if rapid.Bool().Draw(t, "call") {
			d.Call = &llm.CallDelta{Index: rapid.IntRange(-1, 3).Draw(t, "index"), ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Arguments: text.Draw(t, "args")}
		}
		return d
	})
	rapid.Check(t, func(t *rapid.T) {
		deltas := append(rapid.SliceOf(delta).Draw(t, "deltas"), llm.Delta{Stop: llm.StopEnd})
		r, err := llm.Collect(stream(deltas...))
		if err != nil {
			t.Fatal(err)
		}
		again, err := llm.Collect(r.Deltas())
		if err != nil || !again.Chunk.Equal(r.Chunk) || again.Usage != r.Usage || again.Stop != r.Stop {
			t.Fatalf("%v became %v, %v", r, again, err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back llm.Reply
		if err := json.Unmarshal(data, &back); err != nil || !back.Chunk.Equal(r.Chunk) {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

func failing(kind llm.ErrorKind, after time.Duration) scripted.Reply {
	return scripted.Reply{Error: &llm.Error{Kind: kind, RetryAfter: after, Message: "no"}}
}

func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		m := &llm.Retry{Model: scripted.New(failing(llm.ErrServer, 0), failing(llm.ErrRateLimit, 7*time.Second), failing(llm.ErrConnection, 0), scripted.Reply{Text: "ok"})}
		r, err := llm.Collect(m.Stream(t.Context(), &llm.Request{}))
		if err != nil || r.Chunk.Text() != "ok" || len(r.Attempts) != 3 {
			t.Fatalf("%v, %v", r, err)
		}
		if r.Attempts[1].Wait != 7*time.Second || r.Attempts[1].Number != 2 || r.Attempts[1].Error.Kind != llm.ErrRateLimit {
			t.Errorf("%+v", r.Attempts[1])
		}
		if first := r.Attempts[0].Wait; first < 250*time.Millisecond || first > 750*time.Millisecond {
			t.Errorf("the first wait is %v", first)
		}
		if took := time.Since(begin); took < 7*time.Second || took > 12*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestRetryGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := func(replies ...scripted.Reply) (attempts int, err error) {
			r, err := llm.Collect((&llm.Retry{Model: scripted.New(replies...)}).Stream(t.Context(), &llm.Request{}))
			return len(r.Attempts), err
		}
		s := failing(llm.ErrServer, 0)
		if n, err := count(s, s, s, s, scripted.Reply{Text: "too late"}); n != 3 || err == nil {
			t.Errorf("after four failures: %d, %v", n, err)
		}
		for _, kind := range []llm.ErrorKind{llm.ErrAuth, llm.ErrBadRequest, llm.ErrMalformed} {
			if n, err := count(failing(kind, 0), scripted.Reply{Text: "x"}); n != 0 || err == nil {
				t.Errorf("%s was retried", kind)
			}
		}
	})
}

// cutModel fails after its first words.
type cutModel struct{ calls int }

func (m *cutModel) String() string { return "cut:" }
func (m *cutModel) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		m.calls++
		if yield(llm.Delta{Text: "words"}, nil) {
			yield(llm.Delta{}, &llm.Error{Kind: llm.ErrConnection})
		}
	}
}

func TestRetryNeverAfterTheFirstDelta(t *testing.T) {
	m := &cutModel{}
	r, err := llm.Collect((&llm.Retry{Model: m}).Stream(t.Context(), &llm.Request{}))
	if err == nil || m.calls != 1 || r.Chunk.Text() != "words" {
		t.Errorf("%d calls, %v, %v", m.calls, r, err)
	}
}

func TestRetryObeysContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin := time.Now()
		m := &llm.Retry{Model: scripted.New(failing(llm.ErrRateLimit, time.Hour), scripted.Reply{Text: "x"})}
		if _, err := llm.Collect(m.Stream(ctx, &llm.Request{})); err == nil || time.Since(begin) > 0 {
			t.Errorf("it waited %v for what cannot be, %v", time.Since(begin), err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		m.Model, m.MaxRetryAfter = scripted.New(failing(llm.ErrRateLimit, time.Hour), scripted.Reply{Text: "x"}), 2*time.Hour
		if _, err := llm.Collect(m.Stream(ctx, &llm.Request{})); !errors.Is(err, context.Canceled) || time.Since(begin) > time.Second {
			t.Errorf("after %v: %v", time.Since(begin), err)
		}
	})
}

// Nobody waits an hour without having been asked.
func TestRetryAfterIsCapped(t *testing.T) {
	for _, test := range []struct {
		after, most time.Duration
		waits       bool
	}{
		{time.Minute, 0, true}, {time.Minute + 1, 0, false}, {24 * time.Hour, 0, false}, {math.MaxInt64, 0, false},
		{time.Hour, time.Hour, true}, {2 * time.Second, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			m := &llm.Retry{Model: scripted.New(failing(llm.ErrRateLimit, test.after), scripted.Reply{Text: "ok"}), MaxRetryAfter: test.most}
			_, err := llm.Collect(m.Stream(t.Context(), &llm.Request{}))
			if test.waits {
				if err != nil || time.Since(begin) != test.after {
					t.Errorf("%v of at most %v: waited %v, %v", test.after, test.most, time.Since(begin), err)
				}
				return
			}
			var e *llm.Error
			want := "no; the server asks to wait " + test.after.Round(time.Millisecond).String()
			if !errors.As(err, &e) || e.Message != want || e.RetryAfter != test.after || time.Since(begin) > 0 {
				t.Errorf("%v of at most %v: after %v: %v", test.after, test.most, time.Since(begin), err)
			}
		})
	}
}

func TestErrorOfResponse(t *testing.T) {
	for _, test := range []struct {
		status        int
		header, value string
		body          string
		kind          llm.ErrorKind
		message, code string
		after         time.Duration
	}{
		{401, "", "", `{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}`, llm.ErrAuth, "bad key", "invalid_api_key", 0},
		{429, "Retry-After", "2", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, llm.ErrRateLimit, "slow", "rate_limit_error", 2 * time.Second},
		{429, "retry-after-ms", "1500", `{"error":"plain"}`, llm.ErrRateLimit, "plain", "", 1500 * time.Millisecond},
		{429, "Retry-After", "1e300", ``, llm.ErrRateLimit, "Too Many Requests", "", math.MaxInt64},
		{429, "Retry-After", "NaN", ``, llm.ErrRateLimit, "Too Many Requests", "", 0},
		{304, "", "", ``, llm.ErrMalformed, "Not Modified", "", 0},
		{404, "", "", `{"message":"no model","type":"x"}`, llm.ErrBadRequest, "no model", "x", 0},
		{502, "", "", `<html><title>Bad</title> gateway</html>`, llm.ErrServer, "Bad gateway", "", 0},
		{504, "", "", ``, llm.ErrTimeout, "Gateway Timeout", "", 0},
		{500, "", "", `{"error":{"message":"x","code":500}}`, llm.ErrServer, "x", "500", 0},
	} {
		res := &http.Response{StatusCode: test.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(test.body))}
		res.Header.Set(test.header, test.value)
		e := llm.ErrorOfResponse("m:", res)
		if e.Kind != test.kind || e.Message != test.message || e.Code != test.code || e.RetryAfter != test.after {
			t.Errorf("%d %s: %+v", test.status, test.body, e)
		}
	}
}

func TestParamsJSON(t *testing.T) {
	for text, want := range map[string]llm.ToolChoice{
		`"auto"`: {Mode: llm.ToolAuto}, `{"type":"function","function":{"name":"f"}}`: {Mode: llm.ToolNamed, Name: "f"},
	} {
		var got llm.ToolChoice
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if back, _ := json.Marshal(got); string(back) != text {
			t.Errorf("%s became %s", text, back)
		}
	}
	for _, text := range []string{`"maybe"`, `{}`, `1`} {
		if json.Unmarshal([]byte(text), new(llm.ToolChoice)) == nil {
			t.Errorf("%s was taken", text)
		}
	}
	if data, _ := json.Marshal(llm.Params{}); string(data) != "{}" {
		t.Errorf("no settings are %s", data)
	}
}

func TestRequestJSONIdentifies(t *testing.T) {
	a := &llm.Request{Messages: session.FromUser("x").Transcript()}
	b := &llm.Request{Messages: session.New(session.User(session.Text("x"))).Transcript()}
	c := &llm.Request{Prompt: a.Messages}
	text := func(r *llm.Request) string { data, _ := json.Marshal(r); return string(data) }
	if text(a) != text(b) || text(a) == text(c) {
		t.Error(cmp.Diff(text(a), text(b)))
	}
}

func ExampleRetry() {
	m := &llm.Retry{
		Model: scripted.New(scripted.Reply{Error: &llm.Error{Kind: llm.ErrServer}}, scripted.Reply{Text: "hello"}),
		Base:  time.Millisecond,
	}
	reply, err := llm.Collect(m.Stream(context.Background(), &llm.Request{}))
	fmt.Println(reply.Chunk.Text(), len(reply.Attempts), err)
	// Output: hello 1 <nil>
}

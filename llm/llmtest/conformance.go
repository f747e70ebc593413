package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// Options say what of the suite does not fit a driver.
type Options struct {
	Unscripted bool // the model's replies cannot be chosen: only the rules that hold for any reply
	NoUsage    bool // token counts of the script are not what comes back
}

// Open opens the driver on a server that gives the replies, or on the replies
// themselves. Open may be called several times in one test.
type Open func(t *testing.T, replies ...scripted.Reply) llm.Model

// TestModel checks that a driver keeps the rules on which agents rely.
func TestModel(t *testing.T, open Open, opts *Options) {
	if opts == nil {
		opts = &Options{}
	}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if r.scripted && opts.Unscripted || r.usage && opts.NoUsage {
				t.Skip("the options leave this rule out")
			}
			r.check(&check{t, open, r.because})
		})
	}
}

type rule struct {
	name, because   string
	scripted, usage bool
	check           func(*check)
}

type check struct {
	*testing.T
	open    Open
	because string
}

func (c *check) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

func ask(text string) *llm.Request {
	return &llm.Request{
		Messages: session.FromUser(text).Transcript(),
		Tools:    []llm.Tool{{Name: "f", Description: "A tool.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)}},
	}
}

// reply collects one reply.
func (c *check) reply(m llm.Model, req *llm.Request) llm.Reply {
	c.Helper()
	r, err := llm.Collect(m.Stream(c.Context(), req))
	if err != nil {
		c.Fatalf("the model failed: %v", err)
	}
	return r
}

// both runs a check on a streamed reply and on one that comes whole.
func (c *check) both(fn func(noStream bool)) {
	for _, noStream := range []bool{false, true} {
		fn(noStream)
	}
}

var rules = []rule{
	{"names itself by a URL", "records must say which model answered", false, false, func(c *check) {
		if m := c.open(c.T, scripted.Reply{Text: "x"}); !strings.Contains(m.String(), ":") {
			c.broken("String gives %q", m)
		}
	}},
	{"ends every reply with a reason", "a cut stream must be told from a whole one", false, false, func(c *check) {
		m := c.open(c.T, scripted.Reply{Text: "x"})
		if r := c.reply(m, ask("hello")); r.Stop == "" {
			c.broken("the reply has no reason to stop")
		}
	}},
	{"leaves the request alone", "the same request is used by retries and journals", false, false, func(c *check) {
		m, req := c.open(c.T, scripted.Reply{Text: "x"}), ask("hello")
		before, _ := json.Marshal(req)
		c.reply(m, req)
		if after, _ := json.Marshal(req); string(after) != string(before) {
			c.broken("the request was %s and is %s", before, after)
		}
	}},
	{"stops when ctx has ended", "Ctrl-C must be obeyed", false, false, func(c *check) {
		ctx, cancel := context.WithCancel(c.Context())
		cancel()
		m := c.open(c.T, scripted.Reply{Text: "x"})
		if _, err := llm.Collect(m.Stream(ctx, ask("hello"))); !errors.Is(err, context.Canceled) {
			c.broken("the error is %v, want context.Canceled", err)
		}
	}},
	{"lets the loop be left", "a reader may have seen enough", false, false, func(c *check) {
		m := c.open(c.T, scripted.Reply{Text: strings.Repeat("word ", 100)})
		for range m.Stream(c.Context(), ask("hello")) {
			break
		}
	}},
	{"does nothing before the loop", "an unused stream must cost nothing", true, false, func(c *check) {
		m := c.open(c.T, scripted.Reply{Text: "first"})
		_ = m.Stream(c.Context(), ask("a"))
		if r := c.reply(m, ask("b")); r.Chunk.Text() != "first" {
			c.broken("an unused stream took a reply: got %q", r.Chunk.Text())
		}
	}},
	{"gives text whole", "nothing may be lost or added on the way", true, false, func(c *check) {
		for _, text := range []string{"hello", "", "grüße 世界 🌍\n\ttabs", strings.Repeat("long ", 50_000), `"quotes" </tag> \u0041`} {
			c.both(func(noStream bool) {
				m, req := c.open(c.T, scripted.Reply{Text: text}), ask("x")
				req.Params.NoStream = noStream
				if r := c.reply(m, req); r.Chunk.Text() != text || r.Stop != llm.StopEnd {
					c.broken("sent %.50q, got %.50q, stop %q", text, r.Chunk.Text(), r.Stop)
				}
			})
		}
	}},
	{"gives calls whole", "arguments must reach the tool to the byte", true, false, func(c *check) {
		want := []session.Call{
			{ID: "c1", Name: "f", Arguments: `{"a":"ü\n\"x\" </b>","n":[1,2.5e3,null]}`},
			{ID: "c2", Name: "f", Arguments: `{}`},
			{ID: "c3", Name: "g", Arguments: `{"deep":{"x":{"y":"z"}}}`},
		}
		c.both(func(noStream bool) {
			m, req := c.open(c.T, scripted.Reply{Text: "calling", Calls: want}), ask("x")
			req.Params.NoStream = noStream
			r := c.reply(m, req)
			var got []session.Call
			for call := range r.Chunk.Calls() {
				got = append(got, call)
			}
			if diff := cmp.Diff(want, got); diff != "" || r.Stop != llm.StopCalls || r.Chunk.Text() != "calling" {
				c.broken("stop %q, text %q, calls differ:\n%s", r.Stop, r.Chunk.Text(), diff)
			}
		})
	}},
	{"takes the conversation back", "an agent's loop sends everything again", true, false, func(c *check) {
		c.both(func(noStream bool) {
			m := c.open(c.T,
				scripted.Reply{Reasoning: "thinking", Text: "two calls", Calls: []session.Call{{ID: "c1", Name: "f", Arguments: `{"a":"1"}`}, {ID: "c2", Name: "f", Arguments: `{"a":"2"}`}}},
				scripted.Reply{Text: "done"})
			req := ask("x")
			req.Prompt = session.FromSystem("be brief").Transcript()
			req.Params.NoStream = noStream
			r := c.reply(m, req)
			req.Messages = req.Messages.Append(r.Chunk,
				session.ToolResult(session.Answer{CallID: "c1", Tool: "f"}, session.Text("one")),
				session.ToolResult(session.Answer{CallID: "c2", Tool: "f", Outcome: session.Failed}, session.Text("")),
				session.User(session.Text("look"), session.Image("image/png", []byte("png")), session.ImageURL("https://example.com/i.png")))
			if r := c.reply(m, req); r.Chunk.Text() != "done" {
				c.broken("the second reply is %q", r.Chunk.Text())
			}
		})
	}},
	{"keeps reasoning apart", "reasoning is no answer", true, false, func(c *check) {
		c.both(func(noStream bool) {
			m, req := c.open(c.T, scripted.Reply{Reasoning: "let me think", Text: "answer"}), ask("x")
			req.Params.NoStream = noStream
			r := c.reply(m, req)
			var got []session.PartKind
			for p := range r.Chunk.Parts() {
				got = append(got, p.Kind)
				if p.Kind == session.PartReasoning && p.Text != "let me think" {
					c.broken("the reasoning is %q", p.Text)
				}
			}
			if diff := cmp.Diff([]session.PartKind{session.PartReasoning, session.PartText}, got); diff != "" || r.Chunk.Text() != "answer" {
				c.broken("text %q, parts:\n%s", r.Chunk.Text(), diff)
			}
		})
	}},
	{"reports usage", "costs must be known or known to be unknown", true, true, func(c *check) {
		c.both(func(noStream bool) {
			m, req := c.open(c.T, scripted.Reply{Text: "x", Usage: &session.Usage{Input: 100, Output: 20, CacheRead: 60}}, scripted.Reply{Text: "y"}), ask("x")
			req.Params.NoStream = noStream
			if u := c.reply(m, req).Usage; u.Input != 100 || u.Output != 20 || u.CacheRead != 60 || u.Calls != 1 || u.Unreported != 0 {
				c.broken("usage is %+v", u)
			}
			if u := c.reply(m, req).Usage; u.Unreported != 1 || u.Calls != 1 || u.Cost.Known() {
				c.broken("a reply without usage has %+v", u)
			}
		})
	}},
	{"maps the reasons to stop", "agents act on them", true, false, func(c *check) {
		for _, stop := range []llm.Stop{llm.StopEnd, llm.StopLength, llm.StopFilter} {
			m := c.open(c.T, scripted.Reply{Text: "x", Stop: stop})
			if r := c.reply(m, ask("x")); r.Stop != stop {
				c.broken("stop %q came as %q", stop, r.Stop)
			}
		}
	}},
	{"types its errors", "retries and exit codes depend on the kind", true, false, func(c *check) {
		for status, kind := range map[int]llm.ErrorKind{
			400: llm.ErrBadRequest, 401: llm.ErrAuth, 403: llm.ErrAuth, 404: llm.ErrBadRequest,
			429: llm.ErrRateLimit, 500: llm.ErrServer, 503: llm.ErrServer, 529: llm.ErrServer,
		} {
			m := c.open(c.T, scripted.Reply{Error: &llm.Error{Kind: kind, Status: status, Message: "no luck", RetryAfter: 7 * time.Second}})
			_, err := llm.Collect(m.Stream(c.Context(), ask("x")))
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Status != status || !strings.Contains(e.Message, "no luck") || e.Model != m.String() || e.RetryAfter != 7*time.Second {
				c.broken("status %d gives %#v", status, err)
			}
		}
	}},
	{"ends when cancelled", "Ctrl-C must not wait for the server", true, false, func(c *check) {
		m := c.open(c.T, scripted.Reply{Text: "late", Delay: time.Hour})
		ctx, cancel := context.WithTimeout(c.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := llm.Collect(m.Stream(ctx, ask("x")))
		if !errors.Is(err, context.DeadlineExceeded) {
			c.broken("the error is %v", err)
		}
	}},
	{"serves many at once", "agents share a model", true, false, func(c *check) {
		replies := make([]scripted.Reply, 64)
		for i := range replies {
			replies[i] = scripted.Reply{Text: "same", Calls: []session.Call{{ID: "c", Name: "f", Arguments: `{}`}}}
		}
		m := c.open(c.T, replies...)
		var wg sync.WaitGroup
		for range replies {
			wg.Go(func() {
				r, err := llm.Collect(m.Stream(c.Context(), ask("x")))
				if err != nil || r.Chunk.Text() != "same" || r.Chunk.NumCalls() != 1 {
					c.broken("got %v, %v", r, err)
				}
			})
		}
		wg.Wait()
	}},
}

package flow_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

// hostile is a reply of a model that may do anything, and the name that it means, if it
// means one.
type hostile struct {
	reply scripted.Reply
	means string
}

var routeNames = []string{"1", "tech", "tech support", "bílling", `{"choice":"tech"}`, "-1"}

func genHostile(t *rapid.T) hostile {
	all := append([]string{"done", "none"}, routeNames...)
	name := rapid.SampledFrom(all).Draw(t, "name")
	reason := rapid.SampledFrom([]string{"", "because", strings.Repeat("why ", 3000), "\xff", `","choice":"tech`}).Draw(t, "reason")
	object := func(v string) string { return `{"reason":` + quote(reason) + `,"choice":` + quote(v) + `}` }
	switch rapid.SampledFrom([]string{"name", "object", "fence", "words", "prose", "case", "other", "calls", "list", "huge", "error", "garbage"}).Draw(t, "kind") {
	case "name":
		return hostile{scripted.Reply{Text: name}, name}
	case "object":
		return hostile{scripted.Reply{Text: object(name)}, name}
	case "fence":
		return hostile{scripted.Reply{Text: "```json\n" + object(name) + "\n```"}, name}
	case "words":
		return hostile{scripted.Reply{Text: "I choose " + name}, ""}
	case "prose":
		return hostile{scripted.Reply{Text: "The user said " + object(name) + "."}, ""}
	case "case":
		return hostile{scripted.Reply{Text: object(name + "!")}, ""}
	case "other":
		return hostile{scripted.Reply{Text: object(rapid.SampledFrom([]string{"", "Tech", "0", "support", "\xff", "DONE"}).Draw(t, "other"))}, ""}
	case "calls":
		return hostile{scripted.Reply{Text: object(name), Calls: []session.Call{scripted.Call(name, object(name))}}, ""}
	case "list":
		return hostile{scripted.Reply{Text: "[" + object(name) + "]"}, ""}
	case "huge":
		return hostile{scripted.Reply{Text: strings.Repeat(name+"\n", 20_000)}, ""}
	case "error":
		kind := rapid.SampledFrom([]llm.ErrorKind{llm.ErrAuth, llm.ErrBadRequest, llm.ErrServer, llm.ErrMalformed}).Draw(t, "error")
		return hostile{scripted.Reply{Error: &llm.Error{Kind: kind, Message: name}}, ""}
	}
	text := rapid.StringMatching(`[\s0-9{}"\[\]:,x\\-]{0,12}`).Draw(t, "text") // digits too, of which two are names
	trimmed := strings.TrimSpace(text)
	if slices.Contains(routeNames, trimmed) {
		return hostile{scripted.Reply{Text: text}, trimmed}
	}
	return hostile{scripted.Reply{Text: text + "\xfe"}, ""}
}

func quote(s string) string {
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	return `"` + strings.ToValidUTF8(r.Replace(s), "?") + `"`
}

// A model that does what it likes never has a workflow run that it did not name, and the
// route always comes to one of its ends. What is expected is worked out here from what
// each reply means.
func TestHostileModelNeverPicksWhatItDidNotName(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		replies := rapid.SliceOfN(rapid.Custom(genHostile), 1, 8).Draw(t, "replies")
		fallback := rapid.Bool().Draw(t, "default")
		rounds := rapid.IntRange(1, 5).Draw(t, "rounds")
		want := expect(replies, fallback, rounds)

		var ran []string
		add := func(name string) flow.Workflow {
			return &flow.Label{Name: name, Workflow: flow.Func(func(_ context.Context, s session.Session) (session.Session, error) {
				ran = append(ran, name)
				return s.Append(session.Assistant([]session.Part{session.Text(name)})), nil
			})}
		}
		next := 0
		model := scripted.Func(func(req *llm.Request) scripted.Reply {
			if n := req.Messages.Tokens(); n > 12_000 {
				t.Fatalf("asked with %d tokens", n)
			}
			next++
			return replies[(next-1)%len(replies)].reply
		})
		r := &flow.Route{Selector: &flow.Selector{Model: model}, MaxRounds: rounds}
		for _, name := range routeNames {
			r.Choices = append(r.Choices, add(name))
		}
		if fallback {
			r.Default = add("default")
		}
		out, err := r.Forward(t.Context(), session.FromUser("x"))
		if end := endOf(err); end != want.end || !slices.Equal(ran, want.ran) || next != want.asked || out.Len() != 1+len(ran) {
			t.Fatalf("it ended with %s (%v) after %q, asked %d times; want %+v", end, err, ran, next, want)
		}
		var invalid *flow.InvalidChoiceError
		if errors.As(err, &invalid) && len(invalid.Said) > 5000 {
			t.Fatalf("%d bytes of what the model said are kept", len(invalid.Said))
		}
		for a := range out.Ancestors() {
			if name := extraOf(a, "selector.choice"); name != "" && !slices.Contains(append(routeNames, "done", "none"), name) || len(extraOf(a, "selector.reason")) > 2000 {
				t.Fatalf("the lineage says %v", a.Lineage().Extras)
			}
		}
	})
}

func endOf(err error) string {
	var invalid *flow.InvalidChoiceError
	var failed *llm.Error
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, flow.ErrNoMatch):
		return "none"
	case errors.Is(err, flow.ErrMaxRounds):
		return "rounds"
	case errors.As(err, &invalid):
		return "invalid"
	case errors.As(err, &failed):
		return "model"
	}
	return "another"
}

type expected struct {
	end   string
	ran   []string
	asked int
}

// expect is what replies mean, one after the other and round again.
func expect(replies []hostile, fallback bool, rounds int) (e expected) {
	take := func() hostile {
		e.asked++
		return replies[(e.asked-1)%len(replies)]
	}
	for {
		name, schema := "", true
		for tries := 0; tries < 2 && name == ""; tries++ {
			h := take()
			if h.reply.Error != nil && h.reply.Error.Kind == llm.ErrBadRequest && schema {
				schema = false
				h = take()
			}
			if h.reply.Error != nil {
				e.end = "model"
				return e
			}
			name = h.means
		}
		switch {
		case name == "":
			e.end = "invalid"
		case name == "done", name == "none" && !fallback:
			e.end = name
		case len(e.ran) == rounds:
			e.end = "rounds"
		}
		if e.end != "" {
			return e
		}
		if name == "none" {
			name = "default"
		}
		e.ran = append(e.ran, name)
	}
}

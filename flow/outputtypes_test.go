package flow_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// level reads itself from a text, amount from any JSON.
type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) != "high" {
		return fmt.Errorf("there is no level %q", text)
	}
	*l = 3
	return nil
}

type amount struct{ text string }

func (a *amount) UnmarshalJSON(data []byte) error {
	a.text = string(data)
	return nil
}

// checked reads its fields, and looks at them.
type checked struct {
	N int `json:"n"`
}

func (c *checked) UnmarshalJSON(data []byte) error {
	type plain checked
	return json.Unmarshal(data, (*plain)(c))
}

// whole has such types at every place where one can be.
type whole struct {
	Level  level             `json:"level"`
	At     *netip.Addr       `json:"at"`
	Levels map[string]*level `json:"levels"`
	Raw    *json.RawMessage  `json:"raw"`
	Inner  []struct {
		Amount amount  `json:"amount"`
		Check  checked `json:"check"`
	} `json:"inner"`
}

// What can be answered by the schema can be read into the type.
func TestOutputTypes(t *testing.T) {
	fits[level](t, `{"value":"high"}`)
	fits[net.IP](t, `{"value":"10.0.0.1"}`)
	fits[netip.Addr](t, `{"value":"::1"}`)
	fits[time.Time](t, `{"value":"2026-01-02T03:04:05Z"}`)
	fits[big.Rat](t, `{"value":"1/3"}`)
	fits[big.Int](t, `{"value":12345678901234567890123}`)
	fits[*big.Int](t, `{"value":12}`)
	fits[json.RawMessage](t, `{"value":{"a":1}}`, `{"value":[1,"x"]}`, `{"value":null}`)
	fits[amount](t, `{"value":{"currency":"EUR"}}`, `{"value":5}`)
	fits[checked](t, `{"n":5}`)
	fits[url.URL](t, `{"Scheme":"https","Opaque":"","User":null,"Host":"x.org","Path":"/","Fragment":"","RawQuery":"","RawPath":"","RawFragment":"","ForceQuery":false,"OmitHost":false}`)
	fits[whole](t, `{"level":"high","at":"::1","levels":{"a":"high"},"raw":{"b":[]},"inner":[{"amount":1.5,"check":{"n":1}}]}`,
		`{"level":"high","at":null,"levels":{},"raw":null,"inner":[]}`)
}

// fits has a model answer, and refuse to answer again.
func fits[T any](t *testing.T, answers ...string) {
	t.Helper()
	for _, a := range answers {
		o := &flow.Output[T]{Agent: &flow.Agent{Model: scripted.New(scripted.Reply{Text: a})}}
		if _, _, err := o.Run(t.Context(), session.FromUser("x")); err != nil {
			t.Errorf("%T: %s: %v", *new(T), a, err)
		}
	}
}

// A type may refuse a text that the schema has let through: the model is told why.
func TestOutputTextRefused(t *testing.T) {
	o := &flow.Output[level]{Agent: &flow.Agent{Model: scripted.New(scripted.Reply{Text: `{"value":"low"}`}, scripted.Reply{Text: `{"value":"high"}`})}}
	if got, out, err := o.Run(t.Context(), session.FromUser("x")); err != nil || got != 3 || !strings.Contains(out.At(2).Text(), `there is no level "low"`) {
		t.Errorf("%v, %v", got, err)
	}
}

// What no answer can be read into is refused before anything is asked.
func TestOutputUnreadable(t *testing.T) {
	unreadable[error](t, "into the interface error")
	unreadable[struct{ Deep []map[string]fmt.Stringer }](t, "into the interface fmt.Stringer")
	unreadable[struct {
		N int `json:"n,omitempty,string"`
	}](t, "N is a value in a text")
	fits[struct {
		Any    any
		Hidden error `json:"-"`
		//lint:ignore SA5008 where the option is of no meaning, it is none
		List []int `json:",string"`
	}](t, `{"Any":[1],"List":[1]}`)
}

func unreadable[T any](t *testing.T, why string) {
	t.Helper()
	err := flow.Check(&flow.Output[T]{Agent: &flow.Agent{Model: scripted.New()}})
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%T: %v", *new(T), err)
	}
}

// A server is not held to a schema that leaves members open, behind a pointer neither.
func TestOutputStrict(t *testing.T) {
	var requests []llm.Request
	model := func(answer string) *flow.Agent {
		return &flow.Agent{Model: asked(&requests, scripted.Reply{Text: answer})}
	}
	_, _, _ = (&flow.Output[struct{ L *level }]{Agent: model(`{"L":null}`)}).Run(t.Context(), session.FromUser("x"))
	_, _, _ = (&flow.Output[struct{ W *weather }]{Agent: model(`{"W":null}`)}).Run(t.Context(), session.FromUser("x"))
	_, _, _ = (&flow.Output[json.RawMessage]{Agent: model(`{"value":1}`)}).Run(t.Context(), session.FromUser("x"))
	for i, strict := range []bool{true, false, false} {
		if f := requests[i].Params.ResponseFormat; f.Strict != strict {
			t.Errorf("%s: strict is %v", f.Schema, f.Strict)
		}
	}
}

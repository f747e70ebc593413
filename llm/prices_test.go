package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
	"pgregory.net/rapid"
)

func parsePrices(t *testing.T, text string) *llm.Prices {
	t.Helper()
	p, err := llm.ParsePrices([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The table that is built in can be read, says where it is from, and is plausible.
func TestBuiltinPrices(t *testing.T) {
	p, err := llm.LoadPrices("")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("prices.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Date, Source string
		Models       map[string]any
	}
	if err := json.Unmarshal(data, &file); err != nil || len(file.Models) < 30 || !strings.Contains(file.Source, "https://") {
		t.Fatalf("%d models from %q, %v", len(file.Models), file.Source, err)
	}
	if _, err := time.Parse(time.DateOnly, file.Date); err != nil {
		t.Error(err)
	}
	for model := range file.Models {
		price, ok := p.Price(model)
		if !ok {
			t.Errorf("%s is not found", model)
		}
		for ; ; price = *price.Long {
			if price.Input <= 0 || price.CacheRead > price.Input || price.CacheWrite < price.Input || price.Output <= price.Input || price.Reasoning != price.Output {
				t.Errorf("%s: %+v", model, price)
			}
			if price.Long == nil {
				break
			}
		}
	}
}

func TestPriceNames(t *testing.T) {
	p := parsePrices(t, `{"models":{
		"openai:a": {"input":1,"output":10}, "openai:a-mini": {"input":2,"output":10}, "openai:a-2024-05-13": {"input":3,"output":10},
		"openai:own-*": {"input":4,"output":10}, "openai:own-large-*": {"input":5,"output":10}, "openai:own-x": {"input":6,"output":10}}}`)
	for model, dollars := range map[string]llm.Rate{
		"openai:a": 1, "openai:a-2025-01-31": 1, "openai:a-20250131": 1, "openai:a@20250131": 1, "openai:a-mini": 2, "openai:a-mini-2025-01-31": 2,
		"openai:a-2024-05-13": 3, "openai:own-small": 4, "openai:own-": 4, "openai:own-large-2": 5, "openai:own-large": 4, "openai:own-x": 6, "openai:own-x-20250131": 6,
		"openai:b": 0, "a": 0, "": 0, "anthropic:a": 0, "openai:a-nano": 0, "openai:a-latest": 0, "openai:A": 0, "openai:a-2025-01-31-x": 0, "openai:a-1999-01-01": 0, "openai:a2025-01-31": 0,
	} {
		price, ok := p.Price(model)
		if ok != (dollars > 0) || price.Input != dollars*1e9 {
			t.Errorf("%q costs %d, %v", model, price.Input, ok)
		}
	}
	for range 20 { // a map has no order
		if price, _ := p.Price("openai:own-large-2"); price.Input != 5e9 {
			t.Fatalf("the longest entry does not count: %d", price.Input)
		}
	}
	var none *llm.Prices
	if _, ok := none.Price("openai:a"); ok {
		t.Error("no table has a price")
	}
}

func TestPriceCost(t *testing.T) {
	p := parsePrices(t, `{"models":{
		"m:flat": {"input":2.5,"output":15},
		"m:all": {"input":1,"output":8,"cache_read":0.1,"cache_write":1.25,"reasoning":4},
		"m:fine": {"input":0.0375,"output":0.000000001},
		"m:free": {"input":0,"output":0},
		"m:long": {"input":1,"output":2,"above":100,"long":{"input":10,"output":20}},
		"m:unknown-long": {"input":1,"output":2,"above":100}}}`)
	for _, test := range []struct {
		model string
		usage session.Usage
		want  session.Cost
	}{
		{"m:flat", session.Usage{Input: 1000, Output: 100}, session.Cost{Nano: 4_000_000}},
		{"m:flat", session.Usage{Input: 1000, CacheRead: 900, Output: 100, Reasoning: 90}, session.Cost{Nano: 4_000_000}},
		{"m:all", session.Usage{Input: 1000, CacheRead: 600, CacheWrite: 300, Output: 100, Reasoning: 40}, session.Cost{Nano: 100_000 + 60_000 + 375_000 + 480_000 + 160_000}},
		{"m:fine", session.Usage{Input: 1}, session.Cost{Nano: 38}}, // 37.5
		{"m:fine", session.Usage{Input: 3, Output: 499_999}, session.Cost{Nano: 113}},
		{"m:free", session.Usage{Input: 1000}, session.Cost{}},
		{"m:long", session.Usage{Input: 100, Output: 10}, session.Cost{Nano: 120_000}},
		{"m:long", session.Usage{Input: 101, Output: 10}, session.Cost{Nano: 1_210_000}},
		{"m:unknown-long", session.Usage{Input: 101, Output: 10}, session.Cost{Unpriced: 1}},
		{"m:none", session.Usage{Input: 1000}, session.Cost{Unpriced: 1}},
		{"m:flat", session.Usage{Calls: 1, Unreported: 1}, session.Cost{Unpriced: 1}},
		{"m:flat", session.Usage{Input: 100, CacheRead: 200, Output: -5}, session.Cost{Nano: 500_000}}, // a server that cannot count
	} {
		test.usage.Cost = session.Cost{Unpriced: 1}
		if got := p.Cost(test.model, test.usage); got != test.want {
			t.Errorf("%s: %+v costs %+v, want %+v", test.model, test.usage, got, test.want)
		}
	}
	said := session.Usage{Input: 1000, Cost: session.Cost{Nano: 7}}
	if got := p.Cost("m:flat", said); got != said.Cost {
		t.Errorf("what the server says became %v", got)
	}
	if got := p.Cost("m:flat", session.Usage{}); got != (session.Cost{}) {
		t.Errorf("what cost nothing costs %v", got)
	}
}

// The cost is exact, and no count makes it negative.
func TestPriceCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := func(name string) llm.Rate { return llm.Rate(rapid.Int64Range(0, 1_000_000_000_000).Draw(t, name)) }
		p := llm.Price{Input: rate("in"), Output: rate("out"), CacheRead: rate("read"), CacheWrite: rate("write"), Reasoning: rate("reasoning")}
		tokens := func(name string) int64 { return rapid.Int64Range(0, 1_000_000_000_000).Draw(t, name) }
		fresh, read, write, answer, thought := tokens("fresh"), tokens("r"), tokens("w"), tokens("answer"), tokens("thought")
		got := p.Cost(session.Usage{Input: fresh + read + write, CacheRead: read, CacheWrite: write, Output: answer + thought, Reasoning: thought})
		sum := big.NewInt(500_000)
		for _, x := range [][2]int64{{fresh, int64(p.Input)}, {read, int64(p.CacheRead)}, {write, int64(p.CacheWrite)}, {answer, int64(p.Output)}, {thought, int64(p.Reasoning)}} {
			sum.Add(sum, new(big.Int).Mul(big.NewInt(x[0]), big.NewInt(x[1])))
		}
		if want := sum.Quo(sum, big.NewInt(1_000_000)); want.Cmp(big.NewInt(got.Nano)) != 0 || !got.Known() {
			t.Fatalf("%v, want %v", got.Nano, want)
		}
	})
	p := llm.Price{Input: 1e12, Output: 1e12, CacheRead: 1e12, CacheWrite: 1e12, Reasoning: 1e12}
	if got := p.Cost(session.Usage{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64, Reasoning: math.MaxInt64}); got.Nano <= 0 {
		t.Errorf("more than there can be costs %v", got)
	}
}

func TestParsePricesErrors(t *testing.T) {
	for text, want := range map[string]string{
		``: "line 1", "{\n\n\"models\": x}": "line 3", `{"model":{}}`: "unknown", `{"models":{"m:a":{"input":"1","output":1}}}`: "line 1",
		`{"models":{"m:a":{"input":1,"output":1},"m:a":{"input":2,"output":2}}}`:  "duplicate",
		`{"models":{"m:a":{"input":1,"output":1,"cached":1}}}`:                    "unknown",
		`{"models":{"m:a":{"input":1}}}`:                                          `price of "m:a": input and output`,
		`{"models":{"m:a":{"input":-1,"output":1}}}`:                              `price of "m:a": $-1`,
		`{"models":{"m:a":{"input":1,"output":1e9}}}`:                             "cannot be",
		`{"models":{"m:a":{"input":1,"output":1,"long":{"input":1,"output":1}}}}`: "above",
		`{"models":{"m:a":{"input":1,"output":1,"above":-1}}}`:                    "above",
		`{"models":{"m:a":{"input":1,"output":1,"above":1,"long":{"input":1}}}}`:  "input and output",
		`{"models":{"gpt-5":{"input":1,"output":1}}}`:                             "is a URL",
	} {
		if _, err := llm.ParsePrices([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A user's file counts more than the table that is built in.
func TestLoadPrices(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(file, []byte(`{"models":{"openai:gpt-5":{"input":9,"output":9},"openai:own":{"input":1,"output":1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := llm.LoadPrices(file)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]llm.Rate{"openai:gpt-5": 9e9, "openai:own": 1e9, "openai:gpt-5-mini": 25e7} {
		if price, ok := p.Price(model); !ok || price.Input != want {
			t.Errorf("%s: %+v, %v", model, price, ok)
		}
	}
	if _, err := llm.LoadPrices(file + "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llm.LoadPrices(file); err == nil || !strings.Contains(err.Error(), file+": line 2") {
		t.Error(err)
	}
}

func FuzzParsePrices(f *testing.F) {
	f.Add([]byte(`{"date":"2026-01-01","models":{"m:a*":{"input":1,"output":2.5,"above":3,"long":{"input":1,"output":1}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := llm.ParsePrices(data)
		if err != nil {
			return
		}
		if c := p.Cost("m:a", session.Usage{Input: math.MaxInt64, Output: 1, Cost: session.Cost{Unpriced: 1}}); c.Nano < 0 {
			t.Errorf("%v", c)
		}
	})
}

// The cost comes with the usage, by the name of the model or of the one that answered.
func TestPriced(t *testing.T) {
	prices := parsePrices(t, `{"models":{"openai:gpt-x":{"input":1,"output":2}}}`)
	usage := llm.Delta{Usage: &session.Usage{Input: 10, Output: 1, Cost: session.Cost{Unpriced: 1}}}
	answers := func(name string) llm.Model { return playing{name, append([]llm.Delta{usage}, whole...), nil, nil} }
	for _, test := range []struct {
		name  string
		model llm.Model
		want  session.Cost
	}{
		{"known", answers("openai:gpt-x"), session.Cost{Nano: 12_000}},
		{"unknown", answers("openai:gpt-y"), session.Cost{Unpriced: 1}},
		{"a fallback", &llm.Fallback{Models: []llm.Model{playing{"a:", nil, &llm.Error{Kind: llm.ErrServer}, nil}, playing{"openai:gpt-y", append(whole[:2:2], usage, whole[2]), nil, nil}}}, session.Cost{Nano: 12_000}},
		{"unreported", scripted.New(scripted.Reply{Text: "x"}), session.Cost{Unpriced: 1}},
	} {
		r := must(t, &llm.Priced{Model: test.model, Prices: prices})
		if r.Usage.Cost != test.want {
			t.Errorf("%s: %+v, want %+v", test.name, r.Usage.Cost, test.want)
		}
	}
	if usage.Usage.Cost.Unpriced != 1 {
		t.Error("the driver's own usage was changed")
	}
	m := &llm.Cache{Model: &llm.Priced{Model: answers("openai:gpt-x"), Prices: prices}}
	if a, b := must(t, m), must(t, &llm.Priced{Model: m, Prices: prices}); a.Usage.Cost.Nano != 12_000 || b.Usage.Cost != (session.Cost{}) {
		t.Errorf("%v, and from the cache %v", a.Usage.Cost, b.Usage.Cost)
	}
}

func ExamplePriced() {
	prices, err := llm.LoadPrices("") // or a file, whose entries count more
	if err != nil {
		fmt.Println(err)
		return
	}
	price, known := prices.Price("openai:gpt-5-mini-2025-08-07")
	fmt.Println(price.Cost(session.Usage{Input: 12_000, Output: 800}), known)
	_, known = prices.Price("openai:my-own")
	fmt.Println(known)

	usage := session.Usage{Input: 12_000, Output: 800, Cost: session.Cost{Unpriced: 1}} // as servers report it
	m := renamed{scripted.New(scripted.Reply{Text: "hello", Usage: &usage}), "openai:gpt-5-mini"}
	reply, err := llm.Collect((&llm.Priced{Model: m, Prices: prices}).Stream(context.Background(), &llm.Request{}))
	fmt.Println(reply.Usage.Cost, err)
	// Output:
	// $0.004600 true
	// false
	// $0.004600 <nil>
}

package llm

import (
	"bytes"
	_ "embed" // the table
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// builtin has list prices of well-known models: the standard service tier at the provider
// itself, cache writes for five minutes.
//
//go:embed prices.json
var builtin []byte

// Prices is a table of what models cost. It is not changed once it is read, so it is safe
// for concurrent use. A nil table knows no price.
//
// A model's URL is looked up as it is; then without a date at its end (-2026-04-23,
// -20251001 or @20251001); then by the longest entry that ends in * and has the rest in
// front. What is not found has no price: nothing is guessed from similar names.
type Prices struct {
	models map[string]Price
}

// The form of a table, prices in US dollars per million tokens:
//
//	{"date": "2026-10-27", "source": "where the prices were read",
//	 "models": {
//	  "openai:gpt-5.4": {"input": 2.5, "output": 15, "cache_read": 0.25,
//	    "above": 272000, "long": {"input": 5, "output": 22.5, "cache_read": 0.5}},
//	  "openai:my-*": {"input": 0, "output": 0}}}
//
// Cached tokens cost as input where nothing else is said, reasoning as output.
type (
	pricesFile struct {
		Date   string               `json:"date"`
		Source string               `json:"source"`
		Models map[string]priceFile `json:"models"`
	}
	priceFile struct {
		Input      *float64   `json:"input"`
		Output     *float64   `json:"output"`
		CacheRead  *float64   `json:"cache_read"`
		CacheWrite *float64   `json:"cache_write"`
		Reasoning  *float64   `json:"reasoning"`
		Above      int64      `json:"above"`
		Long       *priceFile `json:"long"`
	}
)

// LoadPrices reads the table that is built in, and over it the entries of a file, if one is
// named. The entries' form is that of llm/prices.json.
func LoadPrices(file string) (*Prices, error) {
	p, err := ParsePrices(builtin)
	if err != nil || file == "" {
		return p, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	own, err := ParsePrices(data)
	if err != nil {
		return nil, fmt.Errorf("read prices %s: %w", file, err)
	}
	return p.With(own), nil
}

// ParsePrices reads a table. Unknown members are errors, and prices that cannot be: an
// error says in which line or for which model.
func ParsePrices(data []byte) (*Prices, error) {
	var file pricesFile
	if err := jsonv2.Unmarshal(data, &file, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(data[:offsetOf(err, len(data))], []byte("\n")), err)
	}
	p := &Prices{map[string]Price{}}
	for model, entry := range file.Models {
		price, err := entry.price()
		if err == nil && !strings.Contains(model, ":") {
			err = errors.New(`a model is a URL, "openai:NAME"`)
		}
		if err != nil {
			return nil, fmt.Errorf("price of %q: %w", model, err)
		}
		p.models[model] = price
	}
	return p, nil
}

// offsetOf is where in the data an error is.
func offsetOf(err error, size int) int {
	var syntax *jsontext.SyntacticError
	var semantic *jsonv2.SemanticError
	offset := int64(0)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.ByteOffset
	case errors.As(err, &semantic):
		offset = semantic.ByteOffset
	}
	return max(0, min(int(offset), size))
}

// price checks an entry and fills in what it leaves out.
func (f *priceFile) price() (Price, error) {
	if f.Input == nil || f.Output == nil {
		return Price{}, errors.New("input and output are both needed")
	}
	p := Price{Above: f.Above}
	for _, rate := range []struct {
		to    *Rate
		given *float64
		or    float64
	}{
		{&p.Input, f.Input, 0}, {&p.CacheRead, f.CacheRead, *f.Input}, {&p.CacheWrite, f.CacheWrite, *f.Input},
		{&p.Output, f.Output, 0}, {&p.Reasoning, f.Reasoning, *f.Output},
	} {
		dollars, ok := rate.or, false
		if rate.given != nil {
			dollars = *rate.given
		}
		if *rate.to, ok = rateOf(dollars); !ok {
			return Price{}, fmt.Errorf("$%v for a million tokens cannot be: want 0 to %d", dollars, mostDollars)
		}
	}
	if f.Above < 0 || f.Long != nil && f.Above == 0 {
		return Price{}, errors.New("above, the tokens of input from which on long is the price, must be positive")
	}
	if f.Long == nil {
		return p, nil
	}
	long, err := f.Long.price()
	p.Long = &long
	return p, err
}

var dateAtEnd = regexp.MustCompile(`(-20\d\d-\d\d-\d\d|[-@]20\d{6})$`)

// Price returns the price of a model by its URL, "openai:gpt-5.5", as [Model.String] has it.
func (p *Prices) Price(model string) (Price, bool) {
	if p == nil {
		return Price{}, false
	}
	for _, name := range []string{model, dateAtEnd.ReplaceAllString(model, "")} {
		if price, ok := p.models[name]; ok {
			return price, true
		}
	}
	best := ""
	for name := range p.models {
		if front, open := strings.CutSuffix(name, "*"); open && strings.HasPrefix(model, front) && len(name) > len(best) {
			best = name
		}
	}
	price, ok := p.models[best]
	return price, ok
}

// Cost returns what a call cost: what the server says if it does, else by the table, else
// it is unknown.
func (p *Prices) Cost(model string, u session.Usage) session.Cost {
	price, ok := p.Price(model)
	if u.Cost.Known() || !ok {
		return u.Cost
	}
	return price.Cost(u)
}

// CostOf is Cost where the model that answered, as a reply names it, may not be the one that
// was asked: it counts where url has no price, as that of a [Fallback].
func (p *Prices) CostOf(url, answered string, u session.Usage) session.Cost {
	if _, ok := p.Price(url); !ok {
		url = either(answered, url)
	}
	return p.Cost(url, u)
}

// Most returns what usage costs at the dearest of the models that a URL names; a [Fallback]'s
// names several. It is unknown if the price of one is.
func (p *Prices) Most(url string, u session.Usage) (most session.Cost) {
	for name := range strings.SplitSeq(strings.TrimPrefix(url, fallbackScheme), ",") {
		price, ok := p.Price(name)
		cost := price.Cost(u)
		if !ok || !cost.Known() {
			return session.Cost{Unpriced: 1}
		}
		most.Nano = max(most.Nano, cost.Nano)
	}
	return most
}

// With returns a table with the entries of another one over those of this one.
func (p *Prices) With(other *Prices) *Prices {
	all := maps.Clone(p.models)
	maps.Copy(all, other.models)
	return &Prices{all}
}

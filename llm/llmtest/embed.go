package llmtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
)

// OpenEmbedder opens the driver on a server whose first requests have the faults. It may
// be called several times in one test.
type OpenEmbedder func(t *testing.T, faults ...Fault) llm.Embedder

// TestEmbedder checks that an embedder keeps the rules on which memories rely. Unscripted
// of the options leaves out the rules for faults.
func TestEmbedder(t *testing.T, open OpenEmbedder, opts *Options) {
	if opts == nil {
		opts = &Options{}
	}
	for _, r := range embedRules {
		t.Run(r.name, func(t *testing.T) {
			if r.faults && opts.Unscripted {
				t.Skip("the options leave this rule out")
			}
			r.check(&embedCheck{t, open, r.because})
		})
	}
}

type embedRule struct {
	name, because string
	faults        bool
	check         func(*embedCheck)
}

type embedCheck struct {
	*testing.T
	open    OpenEmbedder
	because string
}

func (c *embedCheck) broken(format string, args ...any) {
	c.Helper()
	c.Errorf(format+"\n\tthe rule: "+c.because, args...)
}

func (c *embedCheck) embed(e llm.Embedder, texts ...string) [][]float32 {
	c.Helper()
	vectors, err := e.Embed(c.Context(), texts)
	if err != nil {
		c.Fatalf("the embedder failed: %v", err)
	}
	if len(vectors) != len(texts) {
		c.Fatalf("%d texts have %d vectors\n\tthe rule: %s", len(texts), len(vectors), c.because)
	}
	return vectors
}

// someTexts are no two alike.
var someTexts = []string{
	"a dog barks at the moon", "the stock market fell by three per cent", "grüße aus münchen", "数据库连接超时",
	"SELECT name FROM users WHERE id = 7", " ", "🌍", strings.Repeat("long ", 500), `"quotes" </tag> \u0041`, "x",
}

// cosine is how near two vectors are: 1 if they are the same.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	return ab / math.Sqrt(aa*bb)
}

// same allows for servers whose sums depend on what else is in the batch.
func same(a, b []float32) bool { return len(a) == len(b) && cosine(a, b) > 0.999 }

func nonzero(x float32) bool { return x != 0 }

var embedRules = []embedRule{
	{"names itself by a URL", "vectors are kept under the name of their model", false, func(c *embedCheck) {
		a, b := c.open(c.T), c.open(c.T)
		if !strings.Contains(a.String(), ":") || a.String() != b.String() {
			c.broken("String gives %q, and %q when opened again", a, b)
		}
	}},
	{"gives vectors of one dimension", "others cannot be compared", false, func(c *embedCheck) {
		e := c.open(c.T)
		dimension := len(c.embed(e, "first")[0])
		for i, v := range c.embed(e, someTexts...) {
			bad := func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }
			if len(v) != dimension || slices.ContainsFunc(v, bad) || !slices.ContainsFunc(v, nonzero) {
				c.broken("%.20q has the vector %.50s, want %d dimensions", someTexts[i], fmt.Sprint(v), dimension)
			}
		}
	}},
	{"keeps the order", "a vector under another text is never found out", false, func(c *embedCheck) {
		e := c.open(c.T)
		together := c.embed(e, someTexts...)
		for i, text := range someTexts {
			alone := c.embed(e, text)[0]
			if !same(alone, together[i]) {
				c.broken("%.20q has another vector alone than among others", text)
			}
		}
	}},
	{"gives the same for the same", "a note must be found by its own words, tomorrow too", false, func(c *embedCheck) {
		v := append(c.embed(c.open(c.T), "one", "two", "one"), c.embed(c.open(c.T), "one")...)
		if !same(v[0], v[2]) || !same(v[0], v[3]) || same(v[0], v[1]) {
			c.broken("the vectors are %.200s", fmt.Sprint(v))
		}
	}},
	{"takes no texts", "a caller need not ask whether there are any", false, func(c *embedCheck) { c.embed(c.open(c.T)) }},
	{"refuses an empty text", "it means nothing, so that it would be found at random", false, func(c *embedCheck) {
		vectors, err := c.open(c.T).Embed(c.Context(), []string{"a", "", "b"})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrBadRequest || len(vectors) > 1 {
			c.broken("it gives %d vectors and %v", len(vectors), err)
		}
	}},
	{"lends nothing", "the vectors are the caller's, and the texts too", false, func(c *embedCheck) {
		e, texts := c.open(c.T), slices.Clone(someTexts)
		before := c.embed(e, texts...)
		for _, v := range before {
			clear(v)
		}
		if diff := cmp.Diff(someTexts, texts); diff != "" {
			c.broken("the texts have changed:\n%s", diff)
		}
		for i, v := range c.embed(e, texts...) {
			if !slices.ContainsFunc(v, nonzero) {
				c.broken("writing into the vector of %.20q has changed the next", texts[i])
			}
		}
	}},
	{"stops when ctx has ended", "Ctrl-C must be obeyed", false, func(c *embedCheck) {
		ctx, cancel := context.WithCancel(c.Context())
		cancel()
		if _, err := c.open(c.T).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
			c.broken("the error is %v, want context.Canceled", err)
		}
	}},
	{"serves many at once", "agents share a memory", false, func(c *embedCheck) {
		e := c.open(c.T)
		want := c.embed(e, someTexts...)
		var wg sync.WaitGroup
		for n := range 32 {
			wg.Go(func() {
				i := n % len(someTexts)
				got, err := e.Embed(c.Context(), someTexts[i:i+1])
				if err != nil || len(got) != 1 || !same(got[0], want[i]) {
					c.broken("%.20q among others gives %.100s, %v", someTexts[i], fmt.Sprint(got), err)
				}
			})
		}
		wg.Wait()
	}},
	{"takes any number of texts", "who reindexes has many", true, func(c *embedCheck) {
		e := c.open(c.T)
		texts := make([]string, 5000)
		for i := range texts {
			texts[i] = fmt.Sprintf("note number %d of %x", i, i*i)
		}
		vectors := c.embed(e, texts...)
		for _, i := range []int{0, 1, 511, 512, 513, 2047, 2048, 2049, 4999} {
			if !same(vectors[i], c.embed(e, texts[i])[0]) {
				c.broken("text %d of %d has another's vector", i, len(texts))
			}
		}
	}},
	{"types its errors", "retries and exit codes depend on the kind", true, func(c *embedCheck) {
		for status, kind := range map[int]llm.ErrorKind{
			400: llm.ErrBadRequest, 401: llm.ErrAuth, 403: llm.ErrAuth, 404: llm.ErrBadRequest, 413: llm.ErrBadRequest,
			429: llm.ErrRateLimit, 500: llm.ErrServer, 503: llm.ErrServer,
		} {
			m := c.open(c.T, Fault{Error: &llm.Error{Status: status, Message: "no luck", RetryAfter: 7 * time.Second}})
			vectors, err := m.Embed(c.Context(), []string{"a"})
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != kind || e.Status != status || e.Message != "no luck" || e.Model != m.String() || e.RetryAfter != 7*time.Second || len(vectors) > 0 {
				c.broken("status %d gives %v, %#v", status, vectors, err)
			}
			c.embed(m, "a") // a failure is over when it is over
		}
	}},
	{"knows a cut answer", "half a list must not pass for whole", true, func(c *embedCheck) {
		vectors, err := c.open(c.T, Fault{Drop: true}).Embed(c.Context(), []string{"a", "b"})
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrConnection || len(vectors) > 0 {
			c.broken("it gives %v, %v", vectors, err)
		}
	}},
	{"gives what was made before an error", "it was paid for", true, func(c *embedCheck) {
		e := c.open(c.T, Fault{}, Fault{Error: &llm.Error{Status: 500}})
		texts := make([]string, 5000)
		for i := range texts {
			texts[i] = fmt.Sprint("note ", i)
		}
		vectors, err := e.Embed(c.Context(), texts)
		if err == nil || len(vectors) == 0 || len(vectors) >= len(texts) {
			c.Fatalf("5,000 texts, of which the second batch fails, give %d vectors, %v\n\tthe rule: %s", len(vectors), err, c.because)
		}
		last := len(vectors) - 1
		if !same(vectors[last], c.embed(e, texts[last])[0]) {
			c.broken("vector %d is another text's", last)
		}
	}},
	{"ends with its time", "Ctrl-C must not wait for the server", true, func(c *embedCheck) {
		ctx, cancel := context.WithTimeout(c.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.open(c.T, Fault{Delay: time.Hour}).Embed(ctx, []string{"a"})
		if !isTimeout(err) || !errors.Is(err, context.DeadlineExceeded) {
			c.broken("the error is %v", err)
		}
	}},
}

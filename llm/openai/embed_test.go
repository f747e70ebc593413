package openai_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/openai"
	"pgregory.net/rapid"
)

func openEmbedderAt(t *testing.T, url string, opts openai.EmbedOptions) *openai.Embedder {
	t.Helper()
	client := llm.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	opts.BaseURL, opts.HTTPClient = url, client
	e, err := openai.OpenEmbedder("m", &opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbedConformance(t *testing.T) {
	for name, test := range map[string]struct {
		quirks llmtest.Quirks
		opts   openai.EmbedOptions
	}{
		"plain":                  {},
		"base64, out of order":   {quirks: llmtest.Quirks{Base64: true, Reversed: true, OmitUsage: true}},
		"shortened, big batches": {opts: openai.EmbedOptions{Dimensions: 16, BatchTexts: 2048}},
	} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestEmbedder(t, func(t *testing.T, faults ...llmtest.Fault) llm.Embedder {
				s := llmtest.NewServer(t)
				s.SetQuirks(test.quirks)
				s.FailEmbeddings(faults...)
				test.opts.APIKey = "key"
				return openEmbedderAt(t, s.URL+"/v1", test.opts)
			}, nil)
		})
	}
}

func TestEmbedGolden(t *testing.T) {
	s := llmtest.NewServer(t)
	e := openEmbedderAt(t, s.URL+"/v1", openai.EmbedOptions{Dimensions: 4, BatchTexts: 2})
	vectors, err := e.Embed(t.Context(), []string{"a <b> & c", "grüße", "世界\n🌍"})
	if err != nil {
		t.Fatal(err)
	}
	llmtest.GoldenVectors(t, "testdata/embed.txtar", s.Requests(), vectors)
}

// embedFixed opens an embedder whose every answer is the same.
func embedFixed(t testing.TB, opts openai.EmbedOptions, body string) *openai.Embedder {
	t.Helper()
	opts.APIKey, opts.HTTPClient = "key", &http.Client{Transport: fixed{"application/json", body}}
	e, err := openai.OpenEmbedder("", &opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func packed(v ...float32) string {
	data, _ := binary.Append(nil, binary.LittleEndian, v)
	return base64.StdEncoding.EncodeToString(data)
}

func TestOddEmbeddings(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, test := range []struct {
		name, body string
		want       [][]float32
		kind       llm.ErrorKind
		fails      string
	}{
		{"as OpenAI answers", `{"object":"list","data":[{"object":"embedding","embedding":[0.5,-1e-3],"index":0},{"object":"embedding","embedding":[1,2],"index":1}],"model":"m","usage":{"prompt_tokens":8,"total_tokens":8}}`, [][]float32{{0.5, -0.001}, {1, 2}}, "", ""},
		{"out of order", `{"data":[{"index":1,"embedding":[2,2]},{"index":0,"embedding":[1,1]}]}`, [][]float32{{1, 1}, {2, 2}}, "", ""},
		{"base64", `{"data":[{"index":0,"embedding":"` + packed(1, -0.25) + `"},{"index":1,"embedding":"` + packed(0, 3) + `"}]}`, [][]float32{{1, -0.25}, {0, 3}}, "", ""},
		{"what is zero is left out", `{"data":[{"embedding":[1]},{"index":1,"embedding":[2]}],"error":null}`, [][]float32{{1}, {2}}, "", ""},
		{"no index at all", `{"data":[{"embedding":[1]},{"embedding":[2]}]}`, nil, llm.ErrMalformed, "index 0"},
		{"an index twice", `{"data":[{"index":1,"embedding":[1]},{"index":1,"embedding":[2]}]}`, nil, llm.ErrMalformed, "index 1"},
		{"an index too high", `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[2]}]}`, nil, llm.ErrMalformed, "index 2"},
		{"an index too low", `{"data":[{"index":-1,"embedding":[1]},{"index":0,"embedding":[2]}]}`, nil, llm.ErrMalformed, "index -1"},
		{"too few", `{"data":[{"index":0,"embedding":[1]}]}`, nil, llm.ErrMalformed, "1 vectors for 2 texts"},
		{"too many", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1]},{"index":2,"embedding":[1]}]}`, nil, llm.ErrMalformed, "3 vectors for 2 texts"},
		{"none", `{"data":[]}`, nil, llm.ErrMalformed, "0 vectors for 2 texts"},
		{"mixed dimensions", `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}`, nil, llm.ErrMalformed, "of 1 and of 2 dimensions"},
		{"no dimension", `{"data":[{"index":0,"embedding":[]},{"index":1,"embedding":[]}]}`, nil, llm.ErrMalformed, "empty vector for text 1"},
		{"no vector", `{"data":[{"index":0,"embedding":[1]},{"index":1}]}`, nil, llm.ErrMalformed, "empty vector for text 2"},
		{"null among numbers", `{"data":[{"index":0,"embedding":[1,null]},{"index":1,"embedding":[1,2]}]}`, nil, llm.ErrMalformed, "invalid syntax"},
		{"null for a vector", `{"data":[{"index":0,"embedding":null},{"index":1,"embedding":[1,2]}]}`, nil, llm.ErrMalformed, "it is no list"},
		{"NaN, which is no JSON", `{"data":[{"index":0,"embedding":[NaN]},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "no list of embeddings"},
		{"NaN in base64", `{"data":[{"index":0,"embedding":"` + packed(1, nan) + `"},{"index":1,"embedding":"` + packed(1, 1) + `"}]}`, nil, llm.ErrMalformed, "it has NaN in it"},
		{"infinity in base64", `{"data":[{"index":0,"embedding":"` + packed(inf) + `"},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "it has +Inf in it"},
		{"a number too great", `{"data":[{"index":0,"embedding":[1e39]},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "1e39"},
		{"zeros only", `{"data":[{"index":0,"embedding":[0,0.0]},{"index":1,"embedding":[1,2]}]}`, nil, llm.ErrMalformed, "zeros only"},
		{"base64 that is none", `{"data":[{"index":0,"embedding":"!"},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "illegal base64"},
		{"half a number", `{"data":[{"index":0,"embedding":"AAAA"},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "3 bytes"},
		{"an object for a vector", `{"data":[{"index":0,"embedding":{"a":1}},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "it is no list"},
		{"texts for numbers", `{"data":[{"index":0,"embedding":["1"]},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "invalid syntax"},
		{"spaces", "{\"data\":[{\"index\":0,\"embedding\":[ ]},{\"index\":1,\"embedding\":[1]}]}", nil, llm.ErrMalformed, "empty vector"},
		{"more spaces", "{\"data\":[{\"index\":0,\"embedding\":[ 1 ,\n\t2\n] },{\"index\":1,\"embedding\":[3,4]}]}", [][]float32{{1, 2}, {3, 4}}, "", ""},
		{"vectors of tokens", `{"data":[{"index":0,"embedding":[[1],[2]]},{"index":1,"embedding":[1]}]}`, nil, llm.ErrMalformed, "a vector that is none"},
		{"cut", `{"data":[{"index":0,"embed`, nil, llm.ErrMalformed, "no list of embeddings"},
		{"something else", `{"status":"ok"}`, nil, llm.ErrMalformed, "no list of embeddings"},
		{"an error in a success", `{"error":{"message":"slow","code":429}}`, nil, llm.ErrRateLimit, "slow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := embedFixed(t, openai.EmbedOptions{}, test.body).Embed(t.Context(), []string{"a", "b"})
			if test.fails == "" {
				if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
					t.Errorf("%v\n%s", err, diff)
				}
				return
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Error(), test.fails) || e.Model != "openai:text-embedding-3-small" || len(got) > 0 {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
}

// Vectors of another dimension than asked for, or than those before, are not comparable.
func TestDimensionStays(t *testing.T) {
	two := `{"data":[{"embedding":[1,2]}]}`
	if _, err := embedFixed(t, openai.EmbedOptions{Dimensions: 3}, two).Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "2 dimensions instead of 3") {
		t.Error(err)
	}
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		body := two
		if n.Add(1) == 2 {
			body = `{"data":[{"embedding":[1,2,3]}]}`
		}
		_, _ = io.WriteString(w, body)
	}))
	defer s.Close()
	e := openEmbedderAt(t, s.URL, openai.EmbedOptions{BatchTexts: 1})
	if got, err := e.Embed(t.Context(), []string{"a", "b", "c"}); len(got) != 1 || err == nil || !strings.Contains(err.Error(), "3 dimensions instead of 2") {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := e.Embed(t.Context(), []string{"b", "c"}); len(got) != 2 || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestEmbedderNames(t *testing.T) {
	for want, test := range map[string]struct {
		name string
		opts openai.EmbedOptions
	}{
		"openai:text-embedding-3-small":                {},
		"openai:text-embedding-3-small?dimensions=256": {opts: openai.EmbedOptions{Dimensions: 256}},
		"openai:BAAI/bge-m3":                           {name: "BAAI/bge-m3"},
	} {
		test.opts.APIKey = "key"
		if e, err := openai.OpenEmbedder(test.name, &test.opts); err != nil || e.String() != want {
			t.Errorf("%v, %v, want %s", e, err, want)
		}
	}
	var e *llm.Error
	if _, err := openai.OpenEmbedder("m", nil); !errors.As(err, &e) || e.Kind != llm.ErrAuth {
		t.Errorf("opening OpenAI without a key: %v", err)
	}
}

// Batches are as full as may be, and nothing is lost or asked twice.
func TestBatches(t *testing.T) {
	s := llmtest.NewServer(t)
	asked := 0 // requests of earlier checks
	rapid.Check(t, func(rt *rapid.T) {
		opts := openai.EmbedOptions{BatchTexts: rapid.IntRange(1, 5).Draw(rt, "texts"), BatchBytes: rapid.IntRange(1, 12).Draw(rt, "bytes")}
		texts := rapid.SliceOfN(rapid.StringMatching(`[a-zü]{1,9}`), 1, 20).Draw(rt, "input")
		if _, err := openEmbedderAt(t, s.URL, opts).Embed(rt.Context(), texts); err != nil {
			rt.Fatal(err)
		}
		requests := s.Requests()[asked:]
		asked += len(requests)
		var all []string
		for i, r := range requests {
			size := len(strings.Join(r.Texts, ""))
			if len(r.Texts) > opts.BatchTexts || size > opts.BatchBytes && len(r.Texts) > 1 {
				rt.Fatalf("a batch of %q", r.Texts)
			}
			if all = append(all, r.Texts...); i < len(requests)-1 {
				next := requests[i+1].Texts[0]
				if len(r.Texts) < opts.BatchTexts && size+len(next) <= opts.BatchBytes {
					rt.Fatalf("%q had room for %q", r.Texts, next)
				}
			}
		}
		if diff := cmp.Diff(texts, all); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestEmbedAtAzure(t *testing.T) {
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for base, path := range map[string]string{
		"https://r.openai.azure.com":            "/openai/deployments/m/embeddings?api-version=2024-10-21",
		"https://r.openai.azure.com/openai/v1/": "/openai/v1/embeddings?api-version=2024-10-21",
	} {
		s := llmtest.NewServer(t)
		e, err := openai.OpenEmbedder("m", &openai.EmbedOptions{Options: openai.Options{APIKey: "az", BaseURL: base, APIVersion: "2024-10-21", HTTPClient: &http.Client{Transport: redirect{s.URL}}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := e.Embed(t.Context(), []string{"x"}); err != nil {
			t.Fatal(err)
		}
		if got := s.Requests()[0]; got.Path != path || got.Header.Get("Api-Key") != "az" || got.Header.Get("Authorization") != "" {
			t.Errorf("%s: path %s, headers %v", base, got.Path, got.Header)
		}
	}
}

// The key goes to its server only, and into no error, whatever the server does with it.
func TestEmbedKeepsTheKey(t *testing.T) {
	const key = "sk-0123456789-secret"
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, answer := range map[string]http.HandlerFunc{
		"an error":            func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(401); fmt.Fprint(w, r.Header) },
		"a reply":             func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header) },
		"an error in a reply": func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"error":%q}`, fmt.Sprint(r.Header)) },
		"a page": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, r.Header)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/?key="+key, http.StatusTemporaryRedirect)
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			answer(w, r)
		}))
		base := strings.Replace(s.URL, "http://", "http://user:"+key+"@", 1) + "/v1?key=" + key
		_, err := openEmbedderAt(t, base, openai.EmbedOptions{Options: openai.Options{APIKey: key}}).Embed(t.Context(), []string{"x"})
		s.Close()
		var e *llm.Error
		if !errors.As(err, &e) || strings.Contains(fmt.Sprintf("%v %+v", err, *e), key) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if elsewhere.Load() > 0 {
		t.Error("the other server was asked")
	}
}

// A call that retries goes on where the failed one ended.
func TestEmbedRetries(t *testing.T) {
	s := llmtest.NewServer(t)
	s.FailEmbeddings(llmtest.Fault{}, llmtest.Fault{Error: &llm.Error{Status: 429}}, llmtest.Fault{Drop: true}, llmtest.Fault{Error: &llm.Error{Status: 500}})
	e := &llm.RetryEmbedder{Embedder: openEmbedderAt(t, s.URL, openai.EmbedOptions{BatchTexts: 1}), Base: time.Millisecond}
	texts := []string{"a", "b", "c"}
	got, err := e.Embed(t.Context(), texts)
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for _, r := range s.Requests() {
		asked = append(asked, r.Texts...)
	}
	if diff := cmp.Diff([]string{"a", "b", "b", "b", "b", "c"}, asked); diff != "" {
		t.Error(diff)
	}
	for i, text := range texts {
		if diff := cmp.Diff(llmtest.Vector(text, len(got[i])), got[i]); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}

// A full batch of the longest vectors that models make, with all the digits that servers
// write, is no longer than what is read of one reply. Spaces stand for most of them here.
func TestLargestBatch(t *testing.T) {
	vector := "[1" + strings.Repeat(" ", 4096*len("-0.006929283495992422,")) + "]"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"data":[{"index":0,"embedding":`+vector+`}`)
		for i := 1; i < 512; i++ {
			fmt.Fprintf(w, `,{"index":%d,"embedding":%s}`, i, vector)
		}
		_, _ = io.WriteString(w, "]}")
	}))
	defer s.Close()
	texts := strings.Split(strings.Repeat("x", 512), "")
	if got, err := openEmbedderAt(t, s.URL, openai.EmbedOptions{}).Embed(t.Context(), texts); len(got) != 512 || err != nil {
		t.Errorf("%d vectors, %v", len(got), err)
	}
}

// Whatever a server sends, there are as many good vectors as texts, or an error.
func FuzzEmbeddings(f *testing.F) {
	f.Add(`{"data":[{"index":0,"embedding":[0.5,1]},{"index":1,"embedding":"AACAPwAAgD8="}]}`)
	f.Add(`{"data":[{"embedding":[1]},{"index":1,"embedding":[null]}],"error":{}}`)
	f.Fuzz(func(t *testing.T, body string) {
		got, err := embedFixed(t, openai.EmbedOptions{}, body).Embed(context.Background(), []string{"a", "b"})
		var e *llm.Error
		if err != nil {
			if !errors.As(err, &e) || len(got) > 0 {
				t.Fatalf("%v, %v", got, err)
			}
			return
		}
		if len(got) != 2 || len(got[0]) == 0 || len(got[0]) != len(got[1]) {
			t.Fatalf("%v", got)
		}
		for _, v := range got {
			var sum float64
			for _, x := range v {
				sum += math.Abs(float64(x))
			}
			if !(sum > 0) || math.IsInf(sum, 0) {
				t.Fatalf("%v", got)
			}
		}
	})
}

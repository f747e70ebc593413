package llmtest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/openrath-go/rath/llm"
)

// Fault is what goes wrong with one request for embeddings. The zero value is nothing.
type Fault struct {
	Delay time.Duration // before the answer
	Error *llm.Error    // the answer, by its Status
	Drop  bool          // the connection breaks amid the answer
}

// FailEmbeddings makes the next requests for embeddings fail, one for each fault. After
// them they do well again.
func (s *Server) FailEmbeddings(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

func (s *Server) fault() (f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) > 0 {
		f, s.faults = s.faults[0], s.faults[1:]
	}
	return f
}

// embed answers a request for embeddings with what Vector says.
func (s *Server) embed(ctx context.Context, out *output) {
	dimensions, problem := out.req.readTexts()
	if problem != "" {
		out.fail(&llm.Error{Status: http.StatusBadRequest, Code: "invalid_request_error", Message: problem})
		return
	}
	f := s.fault()
	select {
	case <-time.After(f.Delay):
	case <-ctx.Done():
		return
	}
	if f.Error != nil {
		out.fail(f.Error)
		return
	}
	if f.Drop {
		out.quirks.CutAfter = 100
	}
	out.embeddings(dimensions)
}

// What a request for embeddings may have, as OpenAI has it.
const (
	maxTexts          = 2048
	defaultDimensions = 64 // not OpenAI's: enough for tests
)

// readTexts decodes the body and says what the real server would refuse about it.
func (r *Request) readTexts() (dimensions int, problem string) {
	var body struct {
		Model          string
		Input          []string
		EncodingFormat string `json:"encoding_format"`
		Dimensions     int
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return 0, "the body is no request for embeddings: " + err.Error()
	}
	r.Model, r.Texts = body.Model, body.Input
	switch {
	case r.Model == "" && !strings.Contains(r.Path, "/deployments/"):
		return 0, "model is missing"
	case len(r.Texts) == 0:
		return 0, "input is empty"
	case len(r.Texts) > maxTexts:
		return 0, fmt.Sprintf("input has %d texts, more than %d", len(r.Texts), maxTexts)
	case slices.Contains(r.Texts, ""):
		return 0, "input has an empty text"
	case body.EncodingFormat != "" && body.EncodingFormat != "float" && body.EncodingFormat != "base64":
		return 0, "encoding_format is unknown"
	case body.Dimensions < 0:
		return 0, "dimensions is negative"
	case body.Dimensions == 0:
		body.Dimensions = defaultDimensions
	}
	return body.Dimensions, ""
}

func (o *output) embeddings(dimensions int) {
	data := make([]object, len(o.req.Texts))
	tokens := 0
	for i, text := range o.req.Texts {
		tokens += len(strings.Fields(text))
		data[i] = object{"object": "embedding", "index": i, "embedding": o.vector(Vector(text, dimensions))}
	}
	if o.quirks.Reversed {
		slices.Reverse(data)
	}
	body := object{"object": "list", "data": data, "model": o.req.Model}
	if !o.quirks.OmitUsage {
		body["usage"] = object{"prompt_tokens": tokens, "total_tokens": tokens}
	}
	o.whole(body)
}

// vector is how the server writes one: bytes become base64 in JSON.
func (o *output) vector(v []float32) any {
	if !o.quirks.Base64 {
		return v
	}
	data, err := binary.Append(nil, binary.LittleEndian, v)
	if err != nil {
		panic(err)
	}
	return data
}

// Vector is what the server answers for a text: the same each time, of length 1, and
// near that of a text with the same words or parts of words, whatever their case.
func Vector(text string, dimensions int) []float32 {
	text = strings.ToLower(text)
	sum := make([]float64, dimensions)
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, word := range append(words, text) { // the text itself, lest there be no words
		runes := []rune("^" + word + "$")
		for i := range max(1, len(runes)-2) {
			h := fnv.New64a()
			_, _ = h.Write([]byte(string(runes[i:min(i+3, len(runes))])))
			n := h.Sum64()
			sum[n>>1%uint64(dimensions)] += 1 - 2*float64(n&1)
		}
	}
	return normal(sum)
}

func normal(sum []float64) []float32 {
	var square float64
	for _, x := range sum {
		square += x * x
	}
	if square == 0 { // the parts have cancelled each other
		sum[0], square = 1, 1
	}
	v := make([]float32, len(sum))
	for i, x := range sum {
		v[i] = float32(x / math.Sqrt(square))
	}
	return v
}

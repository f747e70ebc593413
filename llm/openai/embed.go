package openai

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/openrath-go/rath/llm"
)

// DefaultEmbedding is the model of embedders that are opened without a name.
const DefaultEmbedding = "text-embedding-3-small"

// How much is asked at once, unless the options say otherwise. OpenAI takes 2,048 texts,
// but numbers are long when written out: a reply for as many would be longer than what is
// read of one. It takes 300,000 tokens, and a text has no more tokens than bytes.
const (
	batchTexts = 512
	batchBytes = 300_000
)

// EmbedOptions say how to reach the server, and what to ask of it. OmitStreamOptions and
// EchoReasoning have no meaning here.
type EmbedOptions struct {
	Options

	// Dimensions shortens the vectors, where the model can do that. It becomes part of
	// the embedder's name. 0: as long as the model makes them.
	Dimensions int
	// BatchTexts is how many texts a request has at most, for servers that take fewer.
	// 0: 512.
	BatchTexts int
	// BatchBytes is how long the texts of a request are at most, all together; a longer
	// one is sent alone. 0: 300,000.
	BatchBytes int
}

// Embedder is an embedding model behind an OpenAI-compatible server. It is safe for
// concurrent use.
type Embedder struct {
	model     *Model
	opts      EmbedOptions
	dimension atomic.Int64 // of the vectors so far; 0: there are none
}

// OpenEmbedder prepares an embedding model, [DefaultEmbedding] if name is empty. It makes
// no request; a missing key is an error where the server is known to want one.
func OpenEmbedder(name string, opts *EmbedOptions) (*Embedder, error) {
	e := &Embedder{}
	if opts != nil {
		e.opts = *opts
	}
	m, err := Open(cmp.Or(name, DefaultEmbedding), &e.opts.Options)
	if err != nil {
		return nil, err
	}
	m.path = strings.TrimSuffix(m.path, "chat/completions") + "embeddings"
	if n := e.opts.Dimensions; n != 0 {
		m.url += "?dimensions=" + strconv.Itoa(n)
		e.dimension.Store(int64(n))
	}
	e.model = m
	return e, nil
}

// String returns the model's URL, "openai:text-embedding-3-small", with ?dimensions=256
// where they were asked for: vectors of another length are not comparable.
func (e *Embedder) String() string { return e.model.url }

// Embed asks for the vectors, one batch after the other. A server that answers with
// another dimension than before is in error: somebody has changed its model.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	if i := slices.Index(texts, ""); i >= 0 {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Model: e.model.url, Message: fmt.Sprintf("text %d of %d is empty", i+1, len(texts))}
	}
	vectors := make([][]float32, 0, len(texts))
	for len(vectors) < len(texts) {
		got, err := e.ask(ctx, e.batch(texts[len(vectors):]))
		if err != nil {
			return vectors, e.model.secrets.Redact(err)
		}
		vectors = append(vectors, got...)
	}
	return vectors, nil
}

// batch returns the first texts, as many as one request may have, and at least one.
func (e *Embedder) batch(texts []string) []string {
	most, room := cmp.Or(e.opts.BatchTexts, batchTexts), cmp.Or(e.opts.BatchBytes, batchBytes)
	for i, text := range texts {
		if room -= len(text); i > 0 && (i >= most || room < 0) {
			return texts[:i]
		}
	}
	return texts
}

type embedRequest struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// ask makes one request.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	m := e.model
	body, err := llm.EncodeBody(embedRequest{m.name, texts, "float", e.opts.Dimensions}, nil)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrBadRequest, Model: m.url, Message: "encode the request", Err: err}
	}
	var res *http.Response
	err = m.client.Post(ctx, m.path, body, &res)
	if err := llm.RequestError(ctx, m.url, res, err); err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, llm.BodyError(ctx, m.url, err)
	}
	return e.read(data, len(texts))
}

// embeddings are a reply. A server that leaves out what is zero leaves out the first
// index.
type embeddings struct {
	Data []struct {
		Index     int    `json:"index"`
		Embedding vector `json:"embedding"`
	} `json:"data"`
	Error json.RawMessage `json:"error"`
}

// read makes n vectors of a reply, or a *llm.Error.
func (e *Embedder) read(data []byte, n int) ([][]float32, error) {
	var reply embeddings
	err := json.Unmarshal(data, &reply)
	if errors.Is(err, errVector) {
		return nil, e.malformed("%w", err)
	}
	if len(reply.Error) > 0 && string(reply.Error) != "null" {
		return nil, llm.ErrorOfBody(e.model.url, data)
	}
	if err != nil || reply.Data == nil {
		return nil, llm.ErrorOfUnknown(e.model.url, "list of embeddings", data, err)
	}
	if len(reply.Data) != n {
		return nil, e.malformed("the server sent %d vectors for %d texts", len(reply.Data), n)
	}
	vectors := make([][]float32, n)
	for _, d := range reply.Data {
		if d.Index < 0 || d.Index >= n || vectors[d.Index] != nil {
			return nil, e.malformed("the server sent a vector with index %d, which is given twice or to no text", d.Index)
		}
		if len(d.Embedding) == 0 {
			return nil, e.malformed("the server sent an empty vector for text %d", d.Index+1)
		}
		vectors[d.Index] = d.Embedding
	}
	return vectors, e.measure(vectors)
}

// measure checks that the vectors have one dimension, that of all before.
func (e *Embedder) measure(vectors [][]float32) error {
	n := len(vectors[0])
	for _, v := range vectors {
		if len(v) != n {
			return e.malformed("the server sent vectors of %d and of %d dimensions", n, len(v))
		}
	}
	if !e.dimension.CompareAndSwap(0, int64(n)) && e.dimension.Load() != int64(n) {
		return e.malformed("the server sent vectors of %d dimensions instead of %d", n, e.dimension.Load())
	}
	return nil
}

func (e *Embedder) malformed(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &llm.Error{Kind: llm.ErrMalformed, Model: e.model.url, Message: err.Error(), Err: errors.Unwrap(err)}
}

// vector is a list of numbers, or their bytes in base64: some servers send that unasked.
type vector []float32

var errVector = errors.New("the server sent a vector that is none")

func (v *vector) UnmarshalJSON(data []byte) error {
	if err := v.decode(data); err != nil {
		return fmt.Errorf("%w: %w", errVector, err)
	}
	zeros := len(*v) > 0
	for _, x := range *v {
		if x != x || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: it has %v in it", errVector, x)
		}
		zeros = zeros && x == 0
	}
	if zeros { // what a broken model says of everything
		return fmt.Errorf("%w: it has zeros only", errVector)
	}
	return nil
}

// decode reads what is JSON already. The numbers are read here: json.Unmarshal takes null,
// which is what servers make of NaN, for 0.
func (v *vector) decode(data []byte) error {
	switch data[0] {
	case '"':
		return v.unpack(data)
	case '[':
	default:
		return errors.New("it is no list")
	}
	list := strings.TrimSpace(string(data[1 : len(data)-1]))
	if list == "" {
		return nil
	}
	*v = make(vector, 0, 1+strings.Count(list, ","))
	for number := range strings.SplitSeq(list, ",") {
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 32)
		if err != nil {
			return err
		}
		*v = append(*v, float32(x))
	}
	return nil
}

func (v *vector) unpack(data []byte) error {
	var packed []byte
	if err := json.Unmarshal(data, &packed); err != nil {
		return err
	}
	if len(packed)%4 != 0 {
		return fmt.Errorf("%d bytes are no list of numbers", len(packed))
	}
	*v = make(vector, len(packed)/4)
	_, err := binary.Decode(packed, binary.LittleEndian, *v)
	return err
}

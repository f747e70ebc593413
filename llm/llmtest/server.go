// Package llmtest helps to test models: a [Server] that speaks both wire protocols over
// real HTTP, with the quirks of real gateways, and the rules that drivers keep:
// [TestModel] for every one, [TestHTTP] for those with a server, and [TestEmbedder].
//
// Next: [github.com/openrath-go/rath/store/storetest].
package llmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/session"
)

// Quirks are the ways in which real servers differ. The zero value is a server that
// keeps to the protocol.
type Quirks struct {
	OmitUsage    bool // no token counts
	EmptyChoices bool // a first event without choices, as Azure sends
	KeepAlive    bool // comments between events
	OnePiece     bool // text in one event, however long
	OddPieces    bool // arguments byte by byte, the name in every piece
	NoIndex      bool // tool calls without an index
	OneIndex     bool // every tool call has index 0
	ObjectArgs   bool // arguments as an object, whole
	NoDone       bool // no [DONE] at the end
	CRLF         bool // lines end as in Windows
	AlwaysWhole  bool // no stream, though one is asked for
	SaysStop     bool // finish_reason is stop even where tools are called
	CutAfter     int  // the connection breaks after so many bytes of the body, if not 0
	Base64       bool // vectors as their bytes, though numbers were asked for
	Reversed     bool // the vectors of the last texts first
}

// Server is a fake of a model's server. Close comes with the test's end.
type Server struct {
	*httptest.Server

	answer func(*Request) scripted.Reply
	record bool
	mu     sync.Mutex
	quirks Quirks
	got    []*Request
	faults []Fault
}

// SetQuirks makes the server differ from now on.
func (s *Server) SetQuirks(q Quirks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quirks = q
}

// NewServer starts a server that gives the replies in order, and then 400s. It records
// what it is asked.
func NewServer(t testing.TB, replies ...scripted.Reply) *Server {
	var mu sync.Mutex
	return start(t, true, func(*Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		if len(replies) == 0 {
			return scripted.Reply{Error: &llm.Error{Status: http.StatusBadRequest, Message: "the script has no reply left"}}
		}
		r := replies[0]
		replies = replies[1:]
		return r
	})
}

// NewFuncServer starts a server whose replies depend on the request. It records nothing,
// so that any number of requests fits. answer must be safe for concurrent use.
func NewFuncServer(t testing.TB, answer func(*Request) scripted.Reply) *Server {
	return start(t, false, answer)
}

func start(t testing.TB, record bool, answer func(*Request) scripted.Reply) *Server {
	s := &Server{answer: answer, record: record}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Requests returns what was asked so far.
func (s *Server) Requests() []*Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Request(nil), s.got...)
}

// Request is what a client asked.
type Request struct {
	Path   string // with the query
	Header http.Header
	Body   []byte

	Anthropic  bool // the protocol
	Embeddings bool // what is asked for; the rest is Texts then
	Model      string
	Stream     bool
	Messages   []Message
	Tools      []string
	Texts      []string // to be embedded
}

// Message is one of a request's, as far as a script may want to look at it.
type Message struct {
	Role    string
	Text    string
	Calls   []string // ids of the tools called
	Results []string // ids of the calls answered
	Parts   int
}

// ServeHTTP answers both protocols, and requests for embeddings, by path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	req := &Request{Path: r.URL.RequestURI(), Header: r.Header, Body: body, Anthropic: strings.HasSuffix(r.URL.Path, "/messages"), Embeddings: strings.HasSuffix(r.URL.Path, "/embeddings")}
	out := &output{w: w, quirks: s.note(req), req: req}
	if req.Embeddings {
		s.embed(r.Context(), out)
		return
	}
	if problem := req.read(); problem != "" {
		out.fail(&llm.Error{Status: http.StatusBadRequest, Code: "invalid_request_error", Message: problem})
		return
	}
	reply := s.answer(req)
	select {
	case <-time.After(reply.Delay):
	case <-r.Context().Done():
		return
	}
	switch {
	case reply.Error != nil:
		out.fail(reply.Error)
	case req.Anthropic:
		out.anthropic(reply)
	default:
		out.openai(reply)
	}
}

// note records a request where that is wanted, and returns the quirks for its answer.
func (s *Server) note(req *Request) Quirks {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record {
		s.got = append(s.got, req)
	}
	return s.quirks
}

// output writes one response.
type output struct {
	w       http.ResponseWriter
	quirks  Quirks
	req     *Request
	written int
}

func (o *output) fail(e *llm.Error) {
	if e.RetryAfter > 0 {
		o.w.Header().Set("Retry-After", fmt.Sprint(e.RetryAfter.Seconds()))
	}
	o.w.Header().Set("x-request-id", "req_1")
	o.w.Header().Set("Content-Type", "application/json")
	o.w.WriteHeader(e.Status)
	body := map[string]any{"error": map[string]any{"message": e.Message, "type": e.Code, "code": e.Code}}
	if o.req.Anthropic {
		body["type"] = "error"
	}
	_ = json.NewEncoder(o.w).Encode(body)
}

// write sends bytes until the connection is to break.
func (o *output) write(data string) {
	if o.quirks.CRLF {
		data = strings.ReplaceAll(data, "\n", "\r\n")
	}
	if limit := o.quirks.CutAfter; limit > 0 && o.written+len(data) > limit {
		_, _ = io.WriteString(o.w, data[:limit-o.written])
		o.w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	o.written += len(data)
	_, _ = io.WriteString(o.w, data)
}

// event sends a server-sent event.
func (o *output) event(name string, v any) {
	data := encode(v)
	if o.quirks.KeepAlive {
		o.write(": keep-alive\n\n")
	}
	if name != "" {
		name = "event: " + name + "\n"
	}
	o.write(name + "data: " + data + "\n\n")
	o.w.(http.Flusher).Flush()
}

func (o *output) whole(v any) {
	o.w.Header().Set("Content-Type", "application/json")
	o.write(encode(v))
}

// encode leaves < and & as they are: arguments must come through to the byte.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func (o *output) streams() bool { return o.req.Stream && !o.quirks.AlwaysWhole }

// ids gives a call an id, as servers do.
func ids(calls []session.Call, prefix string, round int) []session.Call {
	out := append([]session.Call(nil), calls...)
	for i := range out {
		if out[i].ID == "" {
			out[i].ID = fmt.Sprintf("%s_%d_%d", prefix, round, i)
		}
	}
	return out
}

// text parts a reply's text as a model would stream it.
func (o *output) text(text string) []string {
	if o.quirks.OnePiece {
		return []string{text}
	}
	return pieces(text, 5)
}

// pieces parts a text after every n characters.
func pieces(text string, n int) (out []string) {
	runes := []rune(text)
	for len(runes) > 0 {
		k := min(n, len(runes))
		out = append(out, string(runes[:k]))
		runes = runes[k:]
	}
	return out
}

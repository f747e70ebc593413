package contract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// failure is an error for the envelope.
type failure struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details map[string]any `json:"details,omitempty"`
}

// statuses are those of the codes.
var statuses = map[string]int{
	"INVALID_ARGUMENT": 400, "INVALID_URI": 400, "UNAUTHENTICATED": 401, "PERMISSION_DENIED": 403, "NOT_FOUND": 404,
	"ALREADY_EXISTS": 409, "CONFLICT": 409, "FAILED_PRECONDITION": 412, "RESOURCE_EXHAUSTED": 429, "INTERNAL": 500,
	"UNIMPLEMENTED": 501, "UNAVAILABLE": 503, "DEADLINE_EXCEEDED": 504,
}

func fail(w http.ResponseWriter, f *failure) {
	reply(w, statuses[f.Code], map[string]any{"status": "error", "error": f})
}

func notFound(uri, kind string) *failure {
	return &failure{"NOT_FOUND", fmt.Sprintf("%s not found: %s", strings.ToUpper(kind[:1])+kind[1:], uri), map[string]any{"resource": uri, "type": kind}}
}

func invalid(format string, args ...any) *failure {
	return &failure{"INVALID_ARGUMENT", fmt.Sprintf(format, args...), nil}
}

// violation is what is wrong with a request.
func violation(message, kind string, loc ...string) *failure {
	return &failure{
		"INVALID_ARGUMENT", fmt.Sprintf("Invalid request parameters: %s: %s", strings.Join(loc, "."), message),
		map[string]any{"validation_errors": []any{map[string]any{"loc": loc, "message": message, "type": kind}}},
	}
}

// decode reads a body, which must have no field that is not documented.
func decode(r *http.Request, in any) *failure {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return invalid("%v", err)
	}
	dec := json.NewDecoder(strings.NewReader(string(body)))
	dec.DisallowUnknownFields()
	err = dec.Decode(in)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "unknown field"):
		_, name, _ := strings.Cut(err.Error(), "unknown field ")
		name, _ = strconv.Unquote(name)
		return violation("Extra inputs are not permitted", "extra_forbidden", "body", name)
	case errors.As(err, &kind):
		return violation("Input should be a valid "+kind.Type.String(), "type_error", "body", kind.Field)
	}
	return violation("JSON decode error", "json_invalid", "body")
}

// query checks that a request has the parameters it must have. The server ignores others,
// this one does not: a client that sends them is mistaken.
func query(r *http.Request, known ...string) *failure {
	if r.URL.Query().Get(known[0]) == "" {
		return violation("Field required", "missing", "query", known[0])
	}
	for name := range r.URL.Query() {
		found := false
		for _, k := range known {
			found = found || k == name
		}
		if !found {
			return violation("Extra inputs are not permitted", "extra_forbidden", "query", name)
		}
	}
	return nil
}

// Fault is how a request fails.
type Fault struct {
	Method string // empty: any
	Path   string // that the request's contains
	Times  int    // 0: always
	Skip   int    // requests that do not fail before it
	// Status and Body are the answer, with Header. Status 0: see below.
	Status int
	Body   string
	Header map[string]string
	// Hang has the request wait until the client is tired of it, Delay for a while; then it
	// is carried out.
	Hang  bool
	Delay time.Duration
	// Cut has the connection break. The request is carried out first, unless Refuse is set.
	Cut    bool
	Refuse bool
}

// Inject has requests fail from now on.
func (s *Server) Inject(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault notes a request, and returns how it is to fail, if it is.
func (s *Server) fault(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, r.Method+" "+r.URL.RequestURI())
	for _, n := range s.nodes {
		n.lag = max(n.lag-1, 0)
	}
	for i, f := range s.faults {
		if f.Method != "" && f.Method != r.Method || !strings.Contains(r.URL.Path, f.Path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times == 1 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		f.Times--
		return f
	}
	return nil
}

func (s *Server) faulty(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f := s.fault(r)
		switch {
		case f == nil:
			h.ServeHTTP(w, r)
		case f.Hang:
			select {
			case <-r.Context().Done():
			case <-s.end:
			}
			panic(http.ErrAbortHandler)
		case f.Delay > 0:
			select {
			case <-time.After(f.Delay):
			case <-s.end:
			}
			h.ServeHTTP(w, r)
		case f.Cut && f.Refuse:
			panic(http.ErrAbortHandler)
		case f.Cut:
			h.ServeHTTP(&swallower{header: http.Header{}}, r)
			panic(http.ErrAbortHandler)
		default:
			for name, value := range f.Header {
				w.Header().Set(name, value)
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(f.Status)
			fmt.Fprint(w, f.Body)
		}
	})
}

// swallower keeps an answer from being sent.
type swallower struct{ header http.Header }

func (s *swallower) Header() http.Header         { return s.header }
func (s *swallower) Write(p []byte) (int, error) { return len(p), nil }
func (s *swallower) WriteHeader(int)             {}

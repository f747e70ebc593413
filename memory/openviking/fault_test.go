package openviking_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, alice())
	for _, test := range []struct {
		status        int
		code, message string
		want          error
		kind          string
	}{
		{400, "INVALID_ARGUMENT", "bad", driver.ErrInvalid, "invalid_uri"},
		{400, "INVALID_URI", "bad", driver.ErrInvalidURI, "invalid_uri"},
		{400, "UNSUPPORTED_URI", "bad", driver.ErrInvalid, "invalid_uri"},
		{400, "UNSUPPORTED_MODE", "bad", driver.ErrInvalid, "invalid_uri"},
		{400, "INVALID_FILTER", "bad", driver.ErrInvalid, "invalid_uri"},
		{401, "UNAUTHENTICATED", "Invalid API Key", driver.ErrUnauthorized, "unauthorized"},
		{403, "PERMISSION_DENIED", "Access denied", driver.ErrUnauthorized, "unauthorized"},
		{404, "NOT_FOUND", "gone", driver.ErrNotFound, "not_found"},
		{404, "NOT_FOUND", "Not Found", driver.ErrUnsupported, "unsupported"}, // the route
		{409, "ALREADY_EXISTS", "there", driver.ErrExists, "internal"},
		{409, "CONFLICT", "locked", driver.ErrConflict, "internal"},
		{409, "ABORTED", "locked", driver.ErrConflict, "internal"},
		{409, "WRITE_CONFLICT", "locked", driver.ErrConflict, "internal"},
		{410, "SESSION_EXPIRED", "expired", driver.ErrNotFound, "not_found"},
		{412, "FAILED_PRECONDITION", "first this", driver.ErrConflict, "internal"},
		{429, "RESOURCE_EXHAUSTED", "slow down", driver.ErrTransport, "transport"},
		{500, "INTERNAL", "oops", nil, "internal"},
		{500, "PROCESSING_ERROR", "oops", nil, "internal"},
		{500, "EMBEDDING_FAILED", "oops", nil, "internal"},
		{501, "UNIMPLEMENTED", "not here", driver.ErrUnsupported, "unsupported"},
		{503, "UNAVAILABLE", "later", driver.ErrTransport, "transport"},
		{503, "MODEL_UNAVAILABLE", "later", driver.ErrTransport, "transport"},
		{503, "NO_VECTOR_DB", "none", driver.ErrUnsupported, "unsupported"},
		{504, "DEADLINE_EXCEEDED", "too late", driver.ErrTransport, "transport"},
	} {
		s.Inject(contract.Fault{Path: "/fs/mkdir", Status: test.status, Body: `{"status":"error","error":{"code":"` + test.code + `","message":"` + test.message + `"}}`})
		err := client(t, s).Mkdir(quick(t), "viking://resources/x")
		s.Heal()
		var got *openviking.APIError
		if !errors.As(err, &got) {
			t.Errorf("%s: %v", test.code, err)
			continue
		}
		want := openviking.APIError{Request: "POST /api/v1/fs/mkdir", Status: test.status, Code: test.code, Message: test.message}
		if diff := cmp.Diff(want, *got, cmpopts.IgnoreUnexported(openviking.APIError{}), cmpopts.IgnoreFields(openviking.APIError{}, "RequestID")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.code, diff)
		}
		if got.Unwrap() != test.want || driver.KindOf(err) != test.kind || got.RequestID == "" || !strings.Contains(err.Error(), got.RequestID) {
			t.Errorf("%s: %v, of kind %s", test.code, err, driver.KindOf(err))
		}
	}
}

func quick(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// Answers that are not OpenViking's.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{404, "404 page not found", driver.ErrTransport, "404 page not found"},
		{200, "<html>welcome</html>", nil, "not OpenViking's"},
		{200, `{"status":"error","error":{"code":"X","message":"y"}}`, nil, "not OpenViking's"},
		{200, `{"status":"ok","result":[1]}`, nil, "not what it should be"},
		{307, "", driver.ErrTransport, "status 307"},
		{401, "", driver.ErrUnauthorized, "status 401"},
		{502, "bad gateway", driver.ErrTransport, "bad gateway"},
		{500, strings.Repeat("x", 100_000), nil, "status 500: xxx"},
	} {
		s := serve(t, alice())
		s.Inject(contract.Fault{Status: test.status, Body: test.body, Header: map[string]string{"Location": "http://elsewhere.invalid/"}})
		_, err := openviking.Open(quick(t), s.URL(), &openviking.Options{APIKey: key})
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) || len(err.Error()) > 600 {
			t.Errorf("%d %.40s: %.600v", test.status, test.body, err)
		}
	}
}

func TestOpenFails(t *testing.T) {
	t.Parallel()
	s := serve(t, alice())
	for _, test := range []struct {
		name, address, key string
		want               error
		hint               string
	}{
		{"no key", s.URL(), "", driver.ErrUnauthorized, "API key"},
		{"another key", s.URL(), "another-key-0123456789", driver.ErrUnauthorized, "API key"},
		{"nobody there", "http://127.0.0.1:1", key, driver.ErrTransport, "can be reached"},
		{"no address", "ftp://x", key, driver.ErrInvalid, ""},
		{"a key in the address", "http://user:secret@localhost:1933", "", driver.ErrInvalid, ""},
		{"a key in the query", "http://localhost:1933?key=secret", "", driver.ErrInvalid, ""},
	} {
		_, err := openviking.Open(quick(t), test.address, &openviking.Options{APIKey: test.key})
		var e *memory.Error
		if !errors.As(err, &e) || !errors.Is(err, test.want) || !strings.Contains(e.Hint(), test.hint) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if test.key != "" && strings.Contains(err.Error(), test.key) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error gives the key away: %v", test.name, err)
		}
	}
}

// Servers repeat what they were sent.
func TestKeysAreNotShown(t *testing.T) {
	s := serve(t, alice())
	c := client(t, s)
	s.Inject(contract.Fault{Status: 400, Body: `{"status":"error","error":{"code":"INVALID_ARGUMENT","message":"no ` + key + ` here"}}`, Header: map[string]string{"X-Request-ID": key}})
	_, err := c.Read(t.Context(), "viking://resources/x")
	if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "no *** here") {
		t.Error(err)
	}
}

// A key goes to its server and to no other, however it is sent.
func TestKeysStayWithTheirServer(t *testing.T) {
	reached := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
	defer other.Close()
	for _, bearer := range []bool{false, true} {
		var got http.Header
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got = r.Header
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}))
		defer s.Close()
		c, err := openviking.NewClient(s.URL, &openviking.Options{APIKey: key, Bearer: bearer, Account: "acme", User: "bob", HTTP: s.Client()})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Status(t.Context())
		if !errors.Is(err, driver.ErrTransport) || reached > 0 {
			t.Errorf("%v, and the other server was asked %d times", err, reached)
		}
		want := map[bool][2]string{false: {key, ""}, true: {"", "Bearer " + key}}[bearer]
		if got.Get("X-API-Key") != want[0] || got.Get("Authorization") != want[1] || got.Get("X-OpenViking-Account") != "acme" || got.Get("X-OpenViking-User") != "bob" {
			t.Errorf("the headers are %v", got)
		}
	}
}

func TestTriesAgain(t *testing.T) {
	for _, test := range []struct {
		name  string
		fault contract.Fault
		do    func(*openviking.Client) error
		count string
		want  int // requests
		ok    bool
	}{
		{"a reading that was cut off", contract.Fault{Times: 2, Cut: true}, read, "GET /api/v1/content/read", 3, true},
		{"a reading of a busy server", contract.Fault{Times: 1, Status: 503}, read, "GET /api/v1/content/read", 2, true},
		{"a reading that is refused", contract.Fault{Times: 1, Status: 500}, read, "GET /api/v1/content/read", 1, false},
		{"a search that was cut off", contract.Fault{Times: 1, Cut: true}, find, "POST /api/v1/search/find", 2, true},
		{"a write that was cut off", contract.Fault{Times: 1, Cut: true}, write, "POST /api/v1/content/write", 1, false},
		{"a write of a busy server", contract.Fault{Times: 1, Status: 503}, write, "POST /api/v1/content/write", 1, false},
		{"a write that is too much now", contract.Fault{Times: 1, Status: 429, Header: map[string]string{"Retry-After": "1"}}, write, "POST /api/v1/content/write", 2, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, alice())
			c := client(t, s)
			if err := c.Write(t.Context(), "viking://resources/a/x.md", "x", "create", true); err != nil {
				t.Fatal(err)
			}
			before := s.Count(test.count)
			s.Inject(test.fault)
			if err := test.do(c); (err == nil) != test.ok {
				t.Errorf("error %v", err)
			}
			if n := s.Count(test.count) - before; n != test.want {
				t.Errorf("%d requests of %d", n, test.want)
			}
		})
	}
}

func read(c *openviking.Client) error {
	_, err := c.Read(context.Background(), "viking://resources/a/x.md")
	return err
}

func find(c *openviking.Client) error {
	_, err := c.Find(context.Background(), openviking.Search{Query: "x"})
	return err
}

func write(c *openviking.Client) error {
	return c.Write(context.Background(), "viking://resources/a/y.md", "y", "create", false)
}

func TestCallsEnd(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{Timeout: 100 * time.Millisecond})
	s.Inject(contract.Fault{Hang: true})
	_, err := d.Get(t.Context(), "memory://user/x")
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, driver.ErrTransport) || !strings.Contains(err.Error(), "no answer in 100ms") {
		t.Error(err)
	}
	s.Heal()
	s.Inject(contract.Fault{Delay: 20 * time.Millisecond})
	put(t, d, "memory://user/memories/x", "slow")
}

// A field that the server does not know is refused loudly.
func TestContractIsStrict(t *testing.T) {
	s := serve(t, contract.Options{})
	for _, test := range []struct{ method, path, body, want string }{
		{"POST", "/api/v1/content/write", `{"uri":"viking://resources/a/b.md","content":"x","regenerate_semantics":true}`, `"loc":["body","regenerate_semantics"]`},
		{"POST", "/api/v1/search/find", `{"query":"x","top_k":3}`, `"extra_forbidden"`},
		{"POST", "/api/v1/search/find", `{"query":"x","limit":"many"}`, `"type_error"`},
		{"POST", "/api/v1/search/find", `{`, `"json_invalid"`},
		{"POST", "/api/v1/content/write", `{"uri":"viking://user/memories/x.md","content":"x","mode":"create"}`, `viking://~/memories/x.md`},
		{"POST", "/api/v1/content/write", `{"uri":"viking://resources/a/b.exe","content":"x","mode":"create"}`, `does not allow extension`},
		{"GET", "/api/v1/fs/ls?uri=viking://~/memories", ``, `authenticated user`},
		{"GET", "/api/v1/fs/ls", ``, `Field required`},
		{"GET", "/api/v1/none", ``, `NOT_FOUND`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), test.method, s.URL()+test.path, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := copyBody(&b, res); err != nil {
			t.Fatal(err)
		}
		if res.StatusCode < 400 || !strings.Contains(b.String(), test.want) {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, res.StatusCode, b.String())
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

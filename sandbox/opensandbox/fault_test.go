//go:build unix

package opensandbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

func TestOpenSurvives(t *testing.T) {
	for _, test := range []struct {
		name  string
		start time.Duration
		fault contract.Fault
	}{
		{"a slow start", 500 * time.Millisecond, contract.Fault{Path: "/none"}},
		{"a busy server", 50 * time.Millisecond, contract.Fault{Method: "GET", Path: "/sandboxes/", Times: 2, Status: http.StatusTooManyRequests, Body: `{"code":"X","message":"slow down"}`}},
		{"a failing server", 50 * time.Millisecond, contract.Fault{Method: "GET", Path: "/sandboxes/", Times: 2, Status: http.StatusInternalServerError, Body: `oops`}},
		{"a broken connection", 50 * time.Millisecond, contract.Fault{Method: "GET", Path: "/sandboxes/", Times: 2, Cut: true}},
		{"a daemon that is late", 0, contract.Fault{Method: "GET", Path: "/ping", Times: 3, Status: http.StatusBadGateway}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, &contract.Options{Start: test.start})
			s.Inject(test.fault)
			sb := open(t, s, opensandbox.Options{})
			if got := shell(t, sb, "echo up"); got != "up\n" {
				t.Errorf("it says %q", got)
			}
			if n := s.Count("POST /v1/sandboxes"); n != 1 {
				t.Errorf("%d sandboxes were asked for", n)
			}
		})
	}
}

func TestOpenFails(t *testing.T) {
	for _, test := range []struct {
		name   string
		fault  contract.Fault
		text   string
		creats int
	}{
		{"409", contract.Fault{Method: "POST", Path: "/sandboxes", Status: http.StatusConflict, Body: `{"code":"SANDBOX::UNKNOWN_ERROR","message":"no room"}`}, "no room", 1},
		{"500", contract.Fault{Method: "POST", Path: "/sandboxes", Status: http.StatusInternalServerError, Body: `<html>`}, "status 500: <html>", 1},
		{"422", contract.Fault{Method: "POST", Path: "/sandboxes", Status: http.StatusUnprocessableEntity, Body: `{"detail":[{"type":"missing","loc":["body","image","uri"],"msg":"Field required"}]}`}, "body.image.uri: Field required", 1},
		{"the answer is cut off", contract.Fault{Method: "POST", Path: "/sandboxes", Cut: true}, "POST /sandboxes", 1},
		{"the answer is none", contract.Fault{Method: "POST", Path: "/sandboxes", Status: http.StatusAccepted, Body: `{`}, "the answer is not what it should be", 1},
		{"never ready", contract.Fault{Method: "GET", Path: "/ping", Status: http.StatusBadGateway}, "it did not become ready in 300ms", 1},
		{"no shell", contract.Fault{Method: "POST", Path: "/command", Status: http.StatusInternalServerError, Body: `{"code":"RUNTIME_ERROR","message":"no shell"}`}, "no shell", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := serve(t, nil)
			s.Inject(test.fault)
			_, err := opensandbox.Open(t.Context(), &opensandbox.Options{URL: s.URL(), Image: "test", ReadyTimeout: 300 * time.Millisecond})
			if err == nil || !strings.Contains(err.Error(), test.text) {
				t.Errorf("the error is %v", err)
			}
			if n := s.Count("POST /v1/sandboxes"); n != test.creats {
				t.Errorf("%d sandboxes were asked for", n)
			}
			if ids := s.IDs(); len(ids) > 0 {
				t.Errorf("sandboxes %v are left", ids)
			}
		})
	}
}

func TestOpenIsCancelled(t *testing.T) {
	s := serve(t, &contract.Options{Start: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		until(t, "the making", func() bool { return len(s.IDs()) == 1 })
		cancel()
	}()
	_, err := opensandbox.Open(ctx, &opensandbox.Options{URL: s.URL(), Image: "test"})
	if !errors.Is(err, context.Canceled) || len(s.IDs()) > 0 {
		t.Errorf("%v, left %v", err, s.IDs())
	}
}

func TestHangingCallsEnd(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	shell(t, sb, "echo x >f")
	for _, path := range []string{"/command", "/files/", "/directories/"} {
		s.Inject(contract.Fault{Path: path, Hang: true})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := sb.List(ctx, ".")
		if err == nil {
			err = second(sb.ReadFile(ctx, "f"))
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", path, err)
		}
		cancel()
		s.Heal()
	}
}

// A stream that breaks is no success, and what ran does not run on.
func TestStreamBreaks(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	for _, events := range []int{0, 1, 2} {
		s.Inject(contract.Fault{Method: "POST", Path: "/command", Times: 1, Cut: true, Events: events})
		r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo one; sleep 2345.678"})
		if err == nil || !strings.Contains(err.Error(), "POST /command") {
			t.Errorf("after %d events: %+v, %v", events, r, err)
		}
		if r.Stdout != "" && r.Stdout != "one\n" {
			t.Errorf("after %d events: the output is %q", events, r.Stdout)
		}
		until(t, "the end of the command", func() bool {
			out, _ := exec.Command("pgrep", "-xf", "sleep 2345.678").Output()
			return len(out) == 0
		})
	}
}

func TestSilentStreamEnds(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	e, err := client(t, s, "").Execd(t.Context(), sb.ID(), false)
	if err != nil {
		t.Fatal(err)
	}
	e.SetSilence(100 * time.Millisecond) // the daemon says something every 3 seconds
	_, err = e.Run(t.Context(), opensandbox.Run{Command: "sleep 5"}, func(opensandbox.Event) {})
	if err == nil || !strings.Contains(err.Error(), "silent") {
		t.Error(err)
	}
}

// What was written is whole or not there, however an upload ends.
func TestWriteFailsWhole(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	shell(t, sb, "printf old >f; chmod 640 f")
	for _, f := range []contract.Fault{
		{Path: "/files/upload", Times: 1, Cut: true},
		{Path: "/files/upload", Times: 1, Cut: true, Refuse: true},
		{Path: "/files/upload", Times: 1, Status: http.StatusInternalServerError, Body: `{"code":"RUNTIME_ERROR","message":"disk full"}`},
		{Path: "/command", Skip: 1, Times: 1, Status: http.StatusInternalServerError, Body: `{"code":"RUNTIME_ERROR","message":"no shell"}`},
	} {
		s.Inject(f)
		if err := sb.WriteFile(t.Context(), "f", []byte("new")); err == nil {
			t.Errorf("%+v: no error", f)
		}
		s.Heal()
		if got := shell(t, sb, "cat f; ls -A; stat -c %a f"); got != "oldf\n640\n" {
			t.Errorf("%+v: there is %q", f, got)
		}
	}
	if err := sb.WriteFile(t.Context(), "f", []byte("new")); err != nil {
		t.Fatal(err)
	}
	if got := shell(t, sb, "cat f; stat -c %a f"); got != "new640\n" {
		t.Errorf("there is %q", got)
	}
}

// A download that is cut off is no short file.
func TestDownloadIsCut(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	shell(t, sb, "head -c 1000000 /dev/zero >f")
	s.Inject(contract.Fault{Path: "/files/download", Times: 1, Cut: true, Events: 3})
	if data, err := sb.ReadFile(t.Context(), "f"); err == nil {
		t.Errorf("read %d bytes of 1000000 without an error", len(data))
	}
}

func TestErrorForms(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	for _, test := range []struct {
		status int
		body   string
		is     error
		want   opensandbox.APIError
	}{
		{401, `{"error":"Unauthorized: invalid or missing header"}`, errPermission, opensandbox.APIError{Message: "Unauthorized: invalid or missing header"}},
		{404, `404 page not found`, sandbox.ErrUnsupported, opensandbox.APIError{Message: "404 page not found"}},
		{404, `{"code":"FILE_NOT_FOUND","message":"gone"}`, errNotExist, opensandbox.APIError{Code: "FILE_NOT_FOUND", Message: "gone"}},
		{500, `{"code":"RUNTIME_ERROR","message":"x"}`, nil, opensandbox.APIError{Code: "RUNTIME_ERROR", Message: "x"}},
		{501, `{"code":"NOT_SUPPORTED","message":"x"}`, sandbox.ErrUnsupported, opensandbox.APIError{Code: "NOT_SUPPORTED", Message: "x"}},
		{422, `{"detail":"Unprocessable"}`, nil, opensandbox.APIError{Message: "Unprocessable"}},
	} {
		s.Inject(contract.Fault{Path: "/directories/list", Times: 1, Status: test.status, Body: test.body})
		_, err := sb.List(t.Context(), ".")
		var got *opensandbox.APIError
		if !errors.As(err, &got) {
			t.Errorf("%d %s: %v", test.status, test.body, err)
			continue
		}
		test.want.Request, test.want.Status = "GET /directories/list", test.status
		if diff := cmp.Diff(test.want, *got); diff != "" {
			t.Errorf("%d %s: (-want +got)\n%s", test.status, test.body, diff)
		}
		if test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%v is not %v", err, test.is)
		}
	}
	_, err := client(t, s, "").Get(t.Context(), "nope")
	var e *opensandbox.APIError
	if !errors.As(err, &e) || e.RequestID == "" || !strings.Contains(err.Error(), e.RequestID) {
		t.Errorf("an error without its request's id: %v", err)
	}
}

func TestEvents(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		max          int
		want         []opensandbox.Event
		err          string
	}{
		{"as they are sent", "{\"type\":\"stdout\",\"text\":\"a\"}\n\n{\"type\":\"ping\"}\n\n", 1000, []opensandbox.Event{{Type: "stdout", Text: "a"}, {Type: "ping"}}, "unexpected EOF"},
		{"as the type has it", ": hi\nevent: x\ndata: {\"type\":\"stdout\",\"text\":\"a\"}\n\nretry: 5\n", 1000, []opensandbox.Event{{Type: "stdout", Text: "a"}}, "unexpected EOF"},
		{"cut off", `{"type":"stdout","te`, 1000, nil, "unexpected EOF"},
		{"broken", "{\"type\":}\n", 1000, nil, "is none"},
		{"too long", "{\"type\":\"stdout\",\"text\":\"" + strings.Repeat("x", 100) + "\"}\n\n{\"type\":\"ping\"}\n\n", 40, []opensandbox.Event{{Type: "stdout", Text: strings.Repeat("x", 15), Cut: 88}, {Type: "ping"}}, "unexpected EOF"},
		{"cut in an escape", "{\"type\":\"stdout\",\"text\":\"abc\\u0041\\u0041\"}\n\n", 36, []opensandbox.Event{{Type: "stdout", Text: "abcA", Cut: 7}}, "unexpected EOF"},
		{"cut behind a backslash", "{\"type\":\"stdout\",\"text\":\"abc\\\\\\\\\\\\\"}\n\n", 31, []opensandbox.Event{{Type: "stdout", Text: "abc", Cut: 6}}, "unexpected EOF"},
		{"cut in a letter", "{\"type\":\"stdout\",\"text\":\"ab世\"}\n\n", 29, []opensandbox.Event{{Type: "stdout", Text: "ab", Cut: 4}}, "unexpected EOF"},
	} {
		got, err := opensandbox.ReadEvents(strings.NewReader(test.stream), test.max)
		if diff := cmp.Diff(test.want, got); diff != "" || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v (-want +got)\n%s", test.name, err, diff)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add("{\"type\":\"stdout\",\"text\":\"a\\u00e4\\\\\"}\n\n", 30)
	f.Fuzz(func(t *testing.T, stream string, max int) {
		all, err := opensandbox.ReadEvents(strings.NewReader(stream), max&0xff+1)
		if err == nil || errors.Is(err, io.EOF) || len(all) > len(stream) {
			t.Errorf("%d events of %d bytes, %v", len(all), len(stream), err)
		}
	})
}

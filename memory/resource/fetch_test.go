package resource

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/openrath-go/rath/memory/driver"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func TestGet(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, h := range []string{"Authorization", "Cookie", "Referer", "Proxy-Authorization"} {
			if r.Header.Get(h) != "" {
				t.Errorf("%s was sent: %q", h, r.Header.Get(h))
			}
		}
		if r.URL.Path == "/from" {
			http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
			http.Redirect(w, r, "/to", http.StatusFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=iso-8859-1")
		fmt.Fprint(w, "<title>Caf\xe9</title><h1>Menu</h1><p>Waffles")
	})
	f := &Fetcher{AllowHosts: []string{"127.0.0.1"}}
	page, err := f.Get(t.Context(), s.URL+"/from?secret=1")
	if err != nil || page.URL != s.URL+"/to" || !strings.HasPrefix(page.MIME, "text/html") {
		t.Fatalf("%+v %v", page, err)
	}
	for doc, err := range Load(t.Context(), s.URL+"/from", &Options{Fetch: f}) {
		if err != nil || doc.Title != "Café" || doc.Name != s.URL+"/from" || doc.Pieces[0].Context != "Menu" {
			t.Errorf("%+v %v", doc, err)
		}
	}
}

func TestGetRefuses(t *testing.T) {
	var hits atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	u, _ := url.Parse(s.URL)
	port := u.Port()
	t.Setenv("HTTP_PROXY", s.URL)
	t.Setenv("http_proxy", s.URL)
	for _, address := range []string{
		"http://127.0.0.1:" + port, "http://localhost:" + port, "http://[::1]:" + port, "http://0.0.0.0:" + port,
		"http://[::ffff:127.0.0.1]:" + port, "http://[::]:" + port, "http://127.1.2.3:" + port,
		"http://[64:ff9b::7f00:1]:" + port, "http://[2002:7f00:1::]:" + port, "http://169.254.169.254/latest/meta-data",
		"http://user:password@8.8.8.8/", "http://user@127.0.0.1:" + port, "file:///etc/passwd", "ftp://8.8.8.8/x", "gopher://127.0.0.1",
		"http://", "http:///x", "//8.8.8.8", "javascript:alert(1)",
	} {
		_, err := (&Fetcher{}).Get(t.Context(), address)
		var refused *Refused
		if !errors.As(err, &refused) || !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
		if err != nil && strings.Contains(err.Error(), "password@") {
			t.Errorf("%s: the error tells the password: %v", address, err)
		}
	}
	for _, address := range []string{"http://2130706433:" + port, "http://0x7f000001:" + port, "http://0177.0.0.1:" + port, "http://%31%32%37.0.0.1:" + port} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		if _, err := (&Fetcher{}).Get(ctx, address); err == nil {
			t.Errorf("%s was fetched", address)
		}
		cancel()
	}
	if hits.Load() != 0 {
		t.Errorf("the server was reached %d times", hits.Load())
	}
}

// Each hop is checked: a server that may be asked cannot send one to another that may not.
func TestGetRefusesRedirects(t *testing.T) {
	inner := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the inner server was reached") })
	to := ""
	outer := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	})
	host := strings.TrimPrefix(outer.URL, "http://")
	f := &Fetcher{AllowHosts: []string{host}}
	for _, to = range []string{inner.URL, strings.Replace(inner.URL, "127.0.0.1", "localhost", 1), "http://u:p@" + host, "file:///etc/passwd"} {
		_, err := f.Get(t.Context(), outer.URL)
		var refused *Refused
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

func TestGetCountsRedirects(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n, _ := strconv.Atoi(r.URL.Query().Get("n")); n > 0 {
			http.Redirect(w, r, fmt.Sprintf("/?n=%d", n-1), http.StatusFound)
		}
	})
	for _, test := range []struct {
		most, n int
		ok      bool
	}{{0, 5, true}, {0, 6, false}, {1, 1, true}, {1, 2, false}, {-1, 0, true}, {-1, 1, false}} {
		f := &Fetcher{AllowPrivate: true, MaxRedirects: test.most}
		if _, err := f.Get(t.Context(), fmt.Sprintf("%s/?n=%d", s.URL, test.n)); (err == nil) != test.ok {
			t.Errorf("%d redirects with a limit of %d: %v", test.n, test.most, err)
		}
	}
}

func TestGetLimits(t *testing.T) {
	bomb := bytes.Buffer{}
	z := gzip.NewWriter(&bomb)
	_, _ = io.CopyN(z, zeros{}, 1<<20)
	z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			_, _ = w.Write(make([]byte, 2000))
		case "/endless":
			for _, err := w.Write(make([]byte, 1000)); err == nil; _, err = w.Write(make([]byte, 1000)) {
				w.(http.Flusher).Flush()
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		case "/br":
			w.Header().Set("Content-Encoding", "br")
		case "/head":
			w.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
		case "/slow":
			<-r.Context().Done()
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/broken":
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for _, test := range []struct {
		path string
		kind error
		text string
	}{
		{"/long", driver.ErrInvalid, "longer than 1000 bytes"},
		{"/endless", driver.ErrInvalid, "longer than 1000 bytes"},
		{"/bomb", driver.ErrInvalid, "longer than 1000 bytes"},
		{"/br", driver.ErrUnsupported, `"br"`},
		{"/head", driver.ErrTransport, "header"},
		{"/slow", context.DeadlineExceeded, "deadline"},
		{"/gone", driver.ErrNotFound, "410"},
		{"/broken", driver.ErrInvalid, "500"},
	} {
		f := &Fetcher{AllowPrivate: true, MaxBytes: 1000, Timeout: 500 * time.Millisecond}
		_, err := f.Get(t.Context(), s.URL+test.path+"?key=secret")
		if !errors.Is(err, test.kind) || !strings.Contains(fmt.Sprint(err), test.text) || !strings.Contains(fmt.Sprint(err), s.URL) {
			t.Errorf("%s: %v", test.path, err)
		}
		if strings.Contains(fmt.Sprint(err), "secret") {
			t.Errorf("the error tells the query: %v", err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// The name is as good as any: what counts is the address that would be dialled.
func TestGetChecksWhatIsDialled(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("the server was reached") })
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(s.URL, "http://"))
	var asked atomic.Int32
	resolver := fakeDNS(t, func() netip.Addr {
		asked.Add(1)
		return netip.MustParseAddr("127.0.0.1")
	})
	_, err := (&Fetcher{Resolver: resolver}).Get(t.Context(), "http://rebind.example:"+port)
	var refused *Refused
	if !errors.As(err, &refused) || refused.Addr != netip.MustParseAddr("127.0.0.1") || asked.Load() == 0 {
		t.Fatalf("%v after %d questions", err, asked.Load())
	}
}

// fakeDNS answers every question for an IPv4 address.
func fakeDNS(t *testing.T, answer func() netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(buf[:n]) != nil || len(m.Questions) == 0 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{
					Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
					Body:   &dnsmessage.AResource{A: answer().As4()},
				}}
			}
			packed, _ := m.Pack()
			_, _ = conn.WriteTo(packed, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

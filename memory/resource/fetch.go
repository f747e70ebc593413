package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// Fetcher reads http and https addresses that somebody else may have chosen. Addresses that
// are not public are refused when they are dialled, whatever their names said before. No
// proxy is used, and no cookies, keys or passwords are sent. The zero value is ready; a
// Fetcher is safe for concurrent use if it is not changed.
type Fetcher struct {
	AllowPrivate bool          // also addresses that are not public
	AllowHosts   []string      // names, with or without ":port", that may have such addresses
	MaxBytes     int64         // of a page, unpacked; 0: 16 MiB
	MaxRedirects int           // 0: 5; below 0: none
	Timeout      time.Duration // for all of a page; 0: 30 s

	// Resolver finds the addresses of names; nil: net.DefaultResolver.
	Resolver *net.Resolver
}

// Page is what was fetched.
type Page struct {
	URL  string // after redirects
	MIME string // as the server says, with parameters
	Data []byte
}

// maxHeader is the longest head of an answer, in bytes.
const maxHeader = 64 << 10

// Get fetches a page. What it may not fetch is a [*Refused] error.
func (f *Fetcher) Get(ctx context.Context, address string) (Page, error) {
	u, err := url.Parse(address)
	if err != nil {
		return Page{}, failed(driver.ErrInvalid, "fetch %q: it is not an address", plain(address))
	}
	if err := f.check(u); err != nil {
		return Page{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, positive(f.Timeout, 30*time.Second))
	defer cancel()
	client := f.client()
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Page{}, failed(driver.ErrInvalid, "fetch %s: %w", show(u), err)
	}
	req.Header.Set("User-Agent", "rath")
	req.Header.Set("Accept", "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5")
	resp, err := client.Do(req)
	if err != nil {
		return Page{}, fetchError(u, err)
	}
	defer resp.Body.Close()
	return f.read(u, resp)
}

func positive[T int64 | time.Duration](n, otherwise T) T {
	if n > 0 {
		return n
	}
	return otherwise
}

// read takes an answer in. The transport has unpacked it, if it was packed by gzip; nothing
// else was offered to the server.
func (f *Fetcher) read(u *url.URL, resp *http.Response) (Page, error) {
	page := Page{URL: resp.Request.URL.String(), MIME: resp.Header.Get("Content-Type")}
	limit := positive(f.MaxBytes, 16<<20)
	switch packed := resp.Header.Get("Content-Encoding"); {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone:
		return page, failed(driver.ErrNotFound, "fetch %s: the server answers %s", show(u), resp.Status)
	case resp.StatusCode != http.StatusOK:
		return page, failed(driver.ErrInvalid, "fetch %s: the server answers %s", show(u), resp.Status)
	case packed != "" && !strings.EqualFold(packed, "identity"):
		return page, failed(driver.ErrUnsupported, "fetch %s: the answer is packed by %q", show(u), packed)
	case resp.ContentLength > limit:
		return page, failed(driver.ErrInvalid, "fetch %s: the answer is longer than %d bytes", show(u), limit)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return page, fetchError(u, err)
	}
	if int64(len(data)) > limit {
		return page, failed(driver.ErrInvalid, "fetch %s: the answer is longer than %d bytes", show(u), limit)
	}
	page.Data = data
	return page, nil
}

// fetchError takes out the names that the HTTP client gives an error, which may have more of
// the address than should be told. It keeps the reason of a refusal.
func fetchError(u *url.URL, err error) error {
	var refused *Refused
	if errors.As(err, &refused) {
		return refused
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return failed(driver.ErrTransport, "fetch %s: %w", show(u), err)
}

// check refuses addresses by how they are written.
func (f *Fetcher) check(u *url.URL) error {
	why := ""
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		why = "only http and https are fetched"
	case u.User != nil:
		why = "it has a user or a password in it"
	case u.Hostname() == "":
		why = "it names no host"
	}
	if why == "" {
		return nil
	}
	return &Refused{URL: show(u), Why: why}
}

// show is an address without what may be secret in it.
func show(u *url.URL) string {
	shown := *u
	shown.User, shown.RawQuery, shown.Fragment = nil, "", ""
	return shown.String()
}

// Shown is a name as it may be told: an address without user, password, query and fragment,
// which may be secret. Other names stay as they are.
func Shown(name string) string {
	if !strings.Contains(name, "://") {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return plain(name)
	}
	return show(u)
}

// plain is what can be shown of an address that cannot be read: nobody knows what is secret.
func plain(address string) string {
	scheme, _, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	return scheme + "://..."
}

func (f *Fetcher) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  nil, // a proxy would dial for us, past all checks
			DialContext:            f.dial,
			DisableKeepAlives:      true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: f.redirect,
	}
}

func (f *Fetcher) redirect(req *http.Request, via []*http.Request) error {
	most := f.MaxRedirects
	if most == 0 {
		most = 5
	}
	if len(via) > most {
		return fmt.Errorf("there are more than %d redirects", max(most, 0))
	}
	req.Header.Del("Referer") // its query is no business of another server
	return f.check(req.URL)
}

// dial connects. What is checked is the address that the connection is made to, so that a
// name cannot have one address when it is looked at and another when it is used.
func (f *Fetcher) dial(ctx context.Context, network, hostPort string) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, Resolver: f.Resolver}
	if !f.allowed(hostPort) {
		d.Control = func(_, address string, _ syscall.RawConn) error { return public(hostPort, address) }
	}
	return d.DialContext(ctx, network, hostPort)
}

func (f *Fetcher) allowed(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	return f.AllowPrivate || err == nil && slices.ContainsFunc(f.AllowHosts, func(h string) bool {
		return strings.EqualFold(h, host) || strings.EqualFold(h, hostPort)
	})
}

func public(host, address string) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refused{URL: host, Why: "its address cannot be read"}
	}
	if why := notPublic(to.Addr()); why != "" {
		return &Refused{URL: host, Addr: to.Addr().Unmap(), Why: why}
	}
	return nil
}

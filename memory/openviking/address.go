package openviking

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/openrath-go/rath/memory/driver"
)

func isAddress(name string) bool {
	u, err := url.Parse(name)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// fetchable refuses an address that is plainly not of the public internet: it is the server
// that fetches it, from where it stands. Of a name nothing is known here.
func (o *Options) fetchable(address string) error {
	u, err := url.Parse(address)
	if err != nil || o.AllowPrivate {
		return err
	}
	if why := notPublic(u.Hostname()); why != "" {
		return fmt.Errorf("%w: the server is not to fetch %s, which is %s; Options.AllowPrivate lets it", driver.ErrInvalid, u.Host, why)
	}
	return nil
}

// closed are networks that [netip.Addr] takes for global: reserved ones, a provider's own,
// and those of IPv6 that stand for IPv4 addresses.
var closed = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// notPublic says what a host is that does not belong to the public internet, or nothing.
func notPublic(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return "the server's own machine"
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		if isNumeric(host[strings.LastIndexByte(host, '.')+1:]) {
			return "a number that may stand for any address"
		}
		return ""
	}
	a = a.WithZone("").Unmap()
	for _, p := range closed {
		if p.Contains(a) {
			return "reserved"
		}
	}
	if a.IsPrivate() || !a.IsGlobalUnicast() {
		return "private, or of the server's own machine"
	}
	return ""
}

// isNumeric reports whether a host that ends so is an IPv4 address, in one of the forms
// that were usual once: 0x7f.1, 2130706433.
func isNumeric(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	set := "0123456789"
	if hex {
		set += "abcdef"
	}
	return (digits != "" || hex) && strings.Trim(digits, set) == ""
}

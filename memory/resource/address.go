package resource

import "net/netip"

// closed are the networks that do not belong to the public internet, by IANA's registries of
// special addresses (RFC 6890). Whatever has IPv6 outside of 2000::/3 is not public either.
var closed = []struct {
	prefix netip.Prefix
	why    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a provider's own (CGNAT)"},
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"},
	{netip.MustParsePrefix("192.0.2.0/24"), "for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("2001::/23"), "reserved or a tunnel (Teredo)"},
	{netip.MustParsePrefix("2001:db8::/32"), "for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "for documentation"},
}

var (
	public6 = netip.MustParsePrefix("2000::/3")
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4  = netip.MustParsePrefix("2002::/16")
)

// notPublic says what an address is that does not belong to the public internet, or nothing.
// An IPv4 address in an IPv6 one counts.
func notPublic(a netip.Addr) string {
	a = a.WithZone("").Unmap()
	bytes := a.As16()
	switch {
	case !a.IsValid():
		return "no address"
	case nat64.Contains(a):
		return notPublic(netip.AddrFrom4([4]byte(bytes[12:])))
	case sixTo4.Contains(a):
		return notPublic(netip.AddrFrom4([4]byte(bytes[2:6])))
	}
	for _, c := range closed {
		if c.prefix.Contains(a) {
			return c.why
		}
	}
	if a.Is6() && !public6.Contains(a) {
		return "reserved"
	}
	return ""
}

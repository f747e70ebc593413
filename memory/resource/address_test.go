package resource

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestNotPublic(t *testing.T) {
	for _, test := range []struct {
		addr   string
		public bool
	}{
		{"8.8.8.8", true},
		{"93.184.216.34", true},
		{"100.63.255.255", true},
		{"172.32.0.1", true},
		{"2606:4700::1111", true},
		{"2a00:1450::1", true},
		{"::ffff:8.8.8.8", true},
		{"64:ff9b::8.8.8.8", true},
		{"2002:0808:0808::1", true},

		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.1.2.3", false},
		{"100.64.0.1", false},
		{"100.127.255.255", false},
		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"169.254.169.254", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.0.0.192", false},
		{"192.168.1.1", false},
		{"198.18.0.1", false},
		{"198.51.100.7", false},
		{"224.0.0.1", false},
		{"239.255.255.250", false},
		{"255.255.255.255", false},
		{"::", false},
		{"::1", false},
		{"::127.0.0.1", false},
		{"::ffff:127.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"::ffff:0:127.0.0.1", false},
		{"64:ff9b::10.0.0.1", false},
		{"64:ff9b::169.254.169.254", false},
		{"64:ff9b:1::8.8.8.8", false},
		{"2002:7f00:0001::", false},
		{"2002:c0a8:0101::1", false},
		{"2002:0a00:0001::1", false},
		{"2001::1", false},
		{"2001:db8::1", false},
		{"3fff::1", false},
		{"fc00::1", false},
		{"fd00:ec2::254", false},
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
		{"100::1", false},
		{"5f00::1", false},
	} {
		if why := notPublic(netip.MustParseAddr(test.addr)); (why == "") != test.public {
			t.Errorf("%s: public is not %v: %q", test.addr, test.public, why)
		}
	}
	if notPublic(netip.Addr{}) == "" {
		t.Error("no address is public")
	}
}

// What the standard library calls private is, in whatever form it comes.
func TestNotPublicAgainstNetip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4")))
		four := a.As4()
		mapped := netip.AddrFrom16(a.As16())
		translated := netip.AddrFrom16([16]byte{1: 0x64, 2: 0xff, 3: 0x9b, 12: four[0], four[1], four[2], four[3]})
		tunnelled := netip.AddrFrom16([16]byte{0x20, 0x02, four[0], four[1], four[2], four[3], 15: 1})
		want := notPublic(a)
		if want == "" && !(a.IsGlobalUnicast() && !a.IsPrivate()) {
			t.Fatalf("%s is public", a)
		}
		for _, same := range []netip.Addr{mapped, translated, tunnelled} {
			if got := notPublic(same); got != want {
				t.Fatalf("%s: %q, but %s: %q", a, want, same, got)
			}
		}
	})
}

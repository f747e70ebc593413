package cli

import "testing"

func TestSize(t *testing.T) {
	for _, test := range []struct {
		text, shown string
		want        int64 // negative: refused
	}{
		{"0", "0", 0},
		{"1000", "1000", 1000},
		{"512k", "512K", 512 << 10},
		{"2048M", "2G", 2 << 30},
		{"3T", "3T", 3 << 40},
		{"", "", -1}, {"G", "", -1}, {"-1", "", -1}, {"1.5G", "", -1}, {"1X", "", -1}, {"9999999T", "", -1},
	} {
		var s size
		err := s.Set(test.text)
		if refused := err != nil; refused != (test.want < 0) {
			t.Errorf("%q: %v", test.text, err)
		}
		if err == nil && (int64(s) != test.want || s.String() != test.shown) {
			t.Errorf("%q is %d, shown as %s", test.text, s, s.String())
		}
	}
}

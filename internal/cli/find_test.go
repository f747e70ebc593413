package cli

import (
	"testing"
	"time"
)

func TestParseRef(t *testing.T) {
	for _, test := range []struct {
		text, id string
		n        int // -2: refused
	}{
		{"@", "@", -1}, {"@@3", "@", 3}, {"01AB-", "01ab-", -1}, {"01ab@0", "01ab", 0},
		{"", "", -2}, {"@@", "", -2}, {"@@@1", "", -2}, {"xyz", "", -2}, {"01@-1", "", -2}, {"01@99999999999999999999", "", -2},
	} {
		r, err := parseRef(test.text)
		if refused := err != nil; refused != (test.n == -2) || !refused && (r.id != test.id || r.n != test.n) {
			t.Errorf("%q: %+v, %v", test.text, r, err)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"":                    {},
		"90m":                 now.Add(-90 * time.Minute),
		"7d":                  now.AddDate(0, 0, -7),
		"2w":                  now.AddDate(0, 0, -14),
		"2026-01-31":          time.Date(2026, 1, 31, 0, 0, 0, 0, time.Local),
		"2026-01-31 15:04":    time.Date(2026, 1, 31, 15, 4, 0, 0, time.Local),
		"2026-01-31T15:04:05": time.Date(2026, 1, 31, 15, 4, 5, 0, time.Local),
	} {
		if got, err := parseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-1h", "-3d", "d", "99999999999d"} {
		if got, err := parseTime(text, now); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{ownerText("host/boot/12/nonce"), "process 12 on host"},
		{ownerText("other"), "other"},
		{amount(0), "0 B"}, {amount(1536), "1.5 KiB"}, {amount(3 << 40), "3.0 TiB"}, {amount(5 << 50), "5120.0 TiB"},
		{plural(1, "run"), "1 run"}, {plural(0, "run"), "0 runs"},
		{span(1234 * time.Nanosecond), "1µs"}, {span(1234 * time.Microsecond), "1ms"}, {span(61234 * time.Millisecond), "1m1s"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

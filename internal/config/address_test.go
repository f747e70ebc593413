package config

import "testing"

func TestPublicURL(t *testing.T) {
	for _, test := range []struct {
		url, want string
		secret    bool
	}{
		{"", "", false},
		{"https://host/v1", "https://host/v1", false},
		{"https://user@host/v1", "https://host/v1", true},
		{"https://user:hunter2@host:8443/v1", "https://host:8443/v1", true},
		{"https://host/v1?api-version=2025-04-01-preview", "https://host/v1?api-version=2025-04-01-preview", false},
		{"https://host/v1?a=1&api-key=hunter2&b=2", "https://host/v1?a=1&b=2", true},
		{"https://host/v1?%6bey=hunter2", "https://host/v1", true},
		{"https://host/v1?a=1;key=hunter2", "https://host/v1", true},
		{"https://host/v1?x=0123456789abcdef0123456789", "https://host/v1", true},
		{"https://host/v1?0123456789abcdef0123456789", "https://host/v1", true},
		{"https://host/v1?sig=hunter2#hunter2", "https://host/v1", true},
		{"https://host/%zz?key=hunter2", "", true},
	} {
		got, secret := PublicURL(test.url)
		if got != test.want || secret != test.secret {
			t.Errorf("%s: %q, %v", test.url, got, secret)
		}
		if again, secret := PublicURL(got); again != got || secret {
			t.Errorf("%s: then %q, %v", got, again, secret)
		}
	}
}

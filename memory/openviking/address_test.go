package openviking

import (
	"errors"
	"testing"

	"github.com/openrath-go/rath/memory/driver"
)

func TestFetchable(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://example.com/a":         true,
		"https://8.8.8.8/":              true,
		"https://[2606:4700::1]/":       true,
		"https://123.example.com":       true,
		"https://abc/":                  true, // a name
		"http://localhost:8080/":        false,
		"http://LOCALHOST./":            false,
		"http://a.localhost/":           false,
		"http://127.0.0.1/":             false,
		"http://127.1/":                 false,
		"http://2130706433/":            false,
		"http://0x7f000001/":            false,
		"http://0x7f.0.0.0x1/":          false,
		"http://0x/":                    false,
		"http://017700000001/":          false,
		"http://0/":                     false,
		"http://10.1.2.3/":              false,
		"http://169.254.169.254/latest": false,
		"http://192.168.0.1:99/":        false,
		"http://100.64.0.1/":            false,
		"http://[::1]/":                 false,
		"http://[::ffff:10.0.0.1]/":     false,
		"http://[fe80::1%25eth0]/":      false,
		"http://[fd00::1]/":             false,
		"http://[64:ff9b::a00:1]/":      false,
		"http://[2002:7f00:1::]/":       false,
		"http://224.0.0.1/":             false,
		"http://255.255.255.255/":       false,
		"http://user:secret@127.0.0.1/": false,
	} {
		if err := (&Options{}).fetchable(address); (err == nil) != ok || err != nil && !errors.Is(err, driver.ErrInvalid) {
			t.Errorf("%s: %v", address, err)
		}
		if err := (&Options{AllowPrivate: true}).fetchable(address); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

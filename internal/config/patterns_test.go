package config

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		text string
		want []string
	}{
		{`ACME-\d{4,8}`, []string{`ACME-\d{4,8}`}},
		{`[A-Z]+ [0-9]`, []string{`[A-Z]+ [0-9]`}},
		{`["a,b","c (d)"]`, []string{"a,b", "c (d)"}},
		{`[]`, nil},
	} {
		dir := t.TempDir()
		c, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set("redact.patterns", test.text); err != nil {
			t.Fatal(err)
		}
		if c, err = Load(dir); err != nil {
			t.Fatal(err)
		}
		patterns, err := c.Patterns()
		if err != nil {
			t.Error(test.text, err)
		}
		var got []string
		for _, p := range patterns {
			got = append(got, p.String())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Error(test.text, diff)
		}
	}
}

func TestPatternsRefused(t *testing.T) {
	dir := t.TempDir()
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if patterns, err := c.Patterns(); patterns != nil || err != nil {
		t.Error("without any:", patterns, err)
	}
	for _, text := range []string{"", "(", `["("]`, `[""]`, `[1]`} {
		if err := c.Set("redact.patterns", text); !errors.Is(err, ErrValue) {
			t.Error(text, err)
		}
	}
	put(t, dir, "config.json", `{"redact":{"patterns":["("]}}`)
	if c, err = Load(dir); err != nil {
		t.Fatal(err)
	}
	var named *Error
	if _, err := c.Patterns(); !errors.As(err, &named) || named.File != c.File() || named.Key != "redact.patterns" || named.Hint() == "" {
		t.Error(err)
	}
	put(t, dir, "config.json", `{"redact":{"patterns":"x"}}`)
	if _, err := Load(dir); err == nil {
		t.Error("a text is taken for a list")
	}
}

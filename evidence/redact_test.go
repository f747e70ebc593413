package evidence

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func markOf(secret string) string {
	return Redaction{Digest: sha256.Sum256([]byte(secret))}.mark()
}

func TestRedactText(t *testing.T) {
	key := "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"
	jwt := "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N"
	// The shapes are put together here so that nobody takes this file for a leak.
	for _, test := range []struct {
		text   string
		secret string // empty: nothing is one
	}{
		{"a %s b", "sk-" + "proj-abcdefghijklmnop0123"},
		{"a %s b", "sk-" + "ant-api03-abcdefghijkl"},
		{"see %s.", "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"},
		{"see %s.", "github_pat_" + "11ABCDEFG0abcdefghijkl_mnop"},
		{"(%s)", "AKIA" + "IOSFODNN7EXAMPLE"},
		{"%s", "xox" + "b-123456789012-abcdefghij"},
		{"https://hooks.slack.com/services/%s", "T00000000/" + "B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"},
		{"key=%s&x=1", "AIza" + "SyA-0123456789abcdefghijklmnopqrstu"},
		{"%s", jwt},
		{"x\n%s\ny", key},
		{"cut off: %s", "-----BEGIN PRIVATE KEY-----\nMIIE"},
		{"postgres://app:%s@db:5432/x", "hunter2"},
		{"Authorization: Bearer %s", "abcdef012345"},
		{`curl -H "Authorization: Basic %s" x`, "dXNlcjpwYXNz"},
		{"a bearer %s", "0123456789abcdef0123"},
		{"AWS_SECRET_ACCESS_KEY=%s", "wJalrXUtnFEMI/K7MDENG"},
		{"export DB_PASSWORD='%s' # x", "correct horse"},
		{"OPENAI_API_KEY=%s\nB=2", "something-else"},
		{`{"password":"%s","user":"ann"}`, "hunter2 and more"},
		{`{"password":"%s"}`, `with \"quotes\" in`},
		{`{"body":"{\"client_secret\": \"%s\"}"}`, "s3cret-value"},
		{"apiKey: %s", "0123456789"},
		{"token => %s", "0123456789"},
		{"DB_PASSWORD_PROD=%s", "hunter2"},
		{"spring.password.prod = %s", "hunter2"},
		{"token2: %s", "hunter2"},
		{"pwd=%s", "ab12"},
		{"pwd: %s\nb: 2", "1"},
		{`{"password": "%s"}`, "x"},
		{`{"password": %s}`, "12345"},
		{`{\"password\": %s}`, "12345"},
		{"password:\n  %s", "hunter2"},
		{"q?password%%3D%s", "hunter2"},
		{`a\u000a%s`, "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"},
		{"\x1b[1m%s\x1b[0m", "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"},
		{"token_count: 12, tokenType: bearer, password_policy=strict", ""},
		{"if token == nil { token = nil }; password: string, secret: true", ""},
		{"secretary: ann, tokenizer=gpt2, TOKENS=5", ""},
		{"password:\n  name: x", ""},
		{"max_tokens=4096 and tokens: 123456", ""},
		{"TOKEN=$GITHUB_TOKEN PASSWORD=${PASSWORD}", ""},
		{"the basic information on bearer certificates", ""},
		{"risk-averse-and-other-long-words ask-me-anything-you-like", ""},
		{"https://example.com:8080/a@b and git@github.com:a/b", ""},
		{"sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", ""},
		{"token: [redacted sha256:0123456789abcdef]", ""},
	} {
		text, want := test.text, test.text
		if test.secret != "" {
			text, want = fmt.Sprintf(test.text, test.secret), fmt.Sprintf(test.text, markOf(test.secret))
		}
		r := newRedactor(nil)
		if diff := cmp.Diff(want, r.text(text)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
		if list := r.list(); test.secret != "" && (len(list) != 1 || list[0].Digest != sha256.Sum256([]byte(test.secret))) {
			t.Errorf("%s: %+v", text, list)
		}
	}
}

func TestRedactJSON(t *testing.T) {
	file := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	digest := strings.Repeat("ab", 32)
	for _, test := range []struct{ in, want string }{
		{`{"b":1,"a":"plain"}`, `{"b":1,"a":"plain"}`},
		{`{"secret":"x","n":[{"token":"y"}]}`, `{"n":[{"token":"` + markOf("y") + `"}],"secret":"` + markOf("x") + `"}`},
		{`{"credentials":["u","v"]}`, `{"credentials":["` + markOf("u") + `","` + markOf("v") + `"]}`},
		{`{"password":12345,"pin_token":-1e3,"token_count":12,"max_tokens":5,"secret":true}`,
			`{"max_tokens":5,"password":"` + markOf("12345") + `","pin_token":"` + markOf("-1e3") + `","secret":true,"token_count":12}`},
		{`{"arguments":"{\"credentials\": [\"u\"], \"n\": 1}"}`, `{"arguments":"{\"credentials\":[\"` + markOf("u") + `\"],\"n\":1}"}`},
		{`{"arguments":"{\"password\": 12345}"}`, `{"arguments":"{\"password\":\"` + markOf("12345") + `\"}"}`},
		{`{"arguments":"{\"secret\":[\"u\"],\"secret\":[2],\"x\":\"\\ud800\"}"}`, `{"arguments":"{\"secret\":[\"` + markOf("u") + `\"],\"secret\":[\"` + markOf("2") + `\"],\"x\":\"�\"}"}`},
		{`{"arguments":"{\"n\": 1}"}`, `{"arguments":"{\"n\": 1}"}`},
		{`{"hunter9":1}`, `{"` + markOf("hunter9") + `":1}`},
		{`{"data":"` + file("PASSWORD=abcdefg") + `","kind":"file"}`, `{"data":"` + file("PASSWORD="+markOf("abcdefg")) + `","kind":"file"}`},
		{`{"data":"/wA="}`, `{"data":"/wA="}`},
		{`{"digest":"` + digest + `","text":"` + digest + `"}`, `{"digest":"` + digest + `","text":"` + markOf(digest) + `"}`},
		{`{"kind":"forward","state":"forward hunter9"}`, `{"kind":"forward","state":"forward ` + markOf("hunter9") + `"}`},
		{`{"time":"2026-01-02T03:04:05Z"}`, `{"time":"2026-01-02T03:04:05Z"}`},
	} {
		r := newRedactor([]*regexp.Regexp{regexp.MustCompile(`hunter\d|[0-9a-f]{64}|2026`)})
		out, _, err := r.json(json.RawMessage(test.in))
		if err != nil || string(out) != test.want {
			t.Errorf("%s\n got %s, %v\nwant %s", test.in, out, err, test.want)
		}
	}
}

// TestRedactLeavesNothing hides a secret anywhere in any JSON, and that in text in JSON.
func TestRedactLeavesNothing(t *testing.T) {
	const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	rapid.Check(t, func(t *rapid.T) {
		value := any(rapid.StringMatching(`[ "'<\\:=\n]{0,5}`).Draw(t, "before") + secret + rapid.StringMatching(`([ "'<\\:\n].{0,5})?`).Draw(t, "after"))
		for range rapid.IntRange(0, 4).Draw(t, "depth") {
			switch rapid.IntRange(0, 2).Draw(t, "kind") {
			case 0:
				value = []any{1.5, value, nil}
			case 1:
				raw, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				value = rapid.SampledFrom([]string{"", "see ", "\t"}).Draw(t, "text") + string(raw)
			default:
				value = map[string]any{rapid.SampledFrom([]string{"a", "data", "text", "digest", "kind", "id"}).Draw(t, "name"): value}
			}
		}
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		r := newRedactor(nil)
		out, changed, err := r.json(raw)
		if err != nil || !changed || strings.Contains(string(out), secret) {
			t.Fatalf("%s became %s, %v", raw, out, err)
		}
		if list := r.list(); len(list) != 1 || list[0].Digest != sha256.Sum256([]byte(secret)) {
			t.Fatalf("%s: %+v", raw, list)
		}
	})
}

func TestFence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching("[`a\n]{0,40}").Draw(t, "text")
		if marks := fence(s); len(marks) < 3 || strings.Contains(s, marks) {
			t.Fatalf("%q would end the fence %s", s, marks)
		}
	})
}

func TestVisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if s := visible(rapid.String().Draw(t, "text")); strings.ContainsFunc(s, hidden) {
			t.Fatalf("%q", s)
		}
	})
	if got, want := visible("a\tb\r\n\x1b[m\u202e\u00a0\ufeff"), "a\tb␍\n␛[m[U+202E]\u00a0[U+FEFF]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

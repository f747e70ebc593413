package driver

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"Likes tea.", "  likes   TEA", true},
		{"Likes tea!?…", "likes tea", true},
		{"喜欢茶。", "喜欢茶", true},
		{`"Likes tea."`, "likes tea", true},
		{"“Likes tea”.", "likes tea", true},
		{"(likes [tea])", "likes [tea]", true},
		{"(likes (tea))", "likes (tea)", false}, // only what is surely a pair
		{"The user programs in C", "The user programs in C#", false},
		{"The user programs in C", "The user programs in C++", false},
		{"The discount is 5", "The discount is 5%", false},
		{"-5 is the limit", "5 is the limit", false},
		{".5 is the limit", "5 is the limit", false},
		{"ignores .env", "ignores env", false},
		{".NET", "net", false},
		{"costs 5 $", "costs 5", false},
		{"#1", "1", false},
		{"@ann", "ann", false},
		{"likes /tmp/", "likes /tmp", false},
		{"the dogs'", "the dogs", false},
		{`5"`, "5", false},
		{"(a) or (b)", "a) or (b", false},
		{"!!!", "...", false},
		{"()", "[]", false},
	} {
		if Same(test.a, test.b) != test.want || Same(test.b, test.a) != test.want {
			t.Errorf("%q and %q: %q and %q", test.a, test.b, Words(test.a), Words(test.b))
		}
	}
}

func TestWordsAreTheirOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("aB5 \n.,!…\"'()[]“”„#%-。é")), 0, 12, -1).Draw(t, "text")
		if w := Words(text); Words(w) != w {
			t.Errorf("%q: %q, then %q", text, w, Words(w))
		}
		if bare := text + "x"; !Same(bare+".", bare) || !strings.ContainsAny(text, "“”") && !Same("“"+bare+"”", bare) {
			t.Errorf("%q: a point or quotes make a difference", bare)
		}
	})
}

func TestTrustWorse(t *testing.T) {
	for i, a := range trusts {
		for j, b := range trusts {
			if a.Worse(b) != (i > j) {
				t.Errorf("%q is worse than %q: %v", a, b, a.Worse(b))
			}
		}
	}
}

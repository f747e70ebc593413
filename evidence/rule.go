package evidence

import (
	"regexp"
	"slices"
)

// rule finds secrets: the first group that matched, or else the whole match.
type rule struct {
	name    string
	pattern *regexp.Regexp
	named   bool // the first group is the secret's name
}

// Names of secrets have one of these words in them, at the end or before a suffix:
// DB_PASSWORD, DB_PASSWORD_PROD, apiKeyTest.
const (
	secretWords  = `(?:api[_-]?key|access[_-]?key|private[_-]?key|signing[_-]?key|encryption[_-]?key|auth[_-]?key|secret(?:[_-]?key)?|password|passwd|passphrase|pwd|token|credentials?)`
	secretSuffix = `(?:(?:[_.-]|(?-i:[A-Z][a-z]))[A-Za-z0-9_.-]*|[0-9]+)?`
	secretNames  = secretWords + secretSuffix
)

// rules find what is known to be a secret by its shape or by its name. They would rather
// take out too much: the digest tells who knows a value that it was there. They are tried
// on texts as they are and with their escapes undone, and need not know of any.
var rules = []rule{
	{name: "private key", pattern: regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)`)},
	{name: "jwt", pattern: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
	{name: "anthropic", pattern: regexp.MustCompile(`\bsk-ant-[A-Za-z0-9_-]{8,}`)},
	{name: "openai", pattern: regexp.MustCompile(`\bsk-[A-Za-z0-9_-]{16,}`)},
	{name: "github", pattern: regexp.MustCompile(`\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,})`)},
	{name: "gitlab", pattern: regexp.MustCompile(`\bglpat-[A-Za-z0-9_-]{16,}`)},
	{name: "aws", pattern: regexp.MustCompile(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{name: "slack", pattern: regexp.MustCompile(`\b(?:xox[a-z]|xapp)-[A-Za-z0-9-]{8,}|\bhooks\.slack\.com/services/([A-Za-z0-9/]{20,})`)},
	{name: "google", pattern: regexp.MustCompile(`\bAIza[A-Za-z0-9_-]{30,}`)},
	{name: "stripe", pattern: regexp.MustCompile(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}`)},
	{name: "hugging face", pattern: regexp.MustCompile(`\bhf_[A-Za-z0-9]{20,}`)},
	{name: "npm", pattern: regexp.MustCompile(`\bnpm_[A-Za-z0-9]{30,}`)},
	{name: "url password", pattern: regexp.MustCompile(`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/:@"'\\]*:([^\s/@"'\\]+)@`)},
	{name: "bearer", pattern: regexp.MustCompile(`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{16,})`)},
	{name: "authorization", pattern: regexp.MustCompile(`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?([^\s"'\\,;]{6,})`)},
	{name: "named", pattern: regexp.MustCompile(`(?i)(` + secretNames + `)["']?\s*(?:[:=]|=>)(?:` +
		`\s*"((?:[^"\\]|\\.)+)"|\s*'([^'\n]+)'|` + // quoted
		`[ \t]*(-?[0-9][0-9.eE+-]*)[)}\]]+(?:[\s"'\\,;]|\z)|` + // a number at the end of an object
		`[ \t]*(` + bareStart + bareRest + `*)|` + // bare, on the same line
		`\s*(` + bareStart + bareRest + `{5,}))`), named: true}, // or on one of the next, where a short one is a name
}

// What values without quotes begin with, and what they go on with.
const (
	bareStart = `[^\s"'\\$<>=({\[,;&]`
	bareRest  = `[^\s"'\\,;&]`
)

var (
	secretName = regexp.MustCompile(`(?i)` + secretNames + `$`)
	// harmlessName is for what is told of a secret.
	harmlessName = regexp.MustCompile(`(?i)` + secretWords + `[_.-]?(?:count|type|limit|usage|budget|length|size|ur[il]|endpoint|ttl|lifetime|expiry|expires_?(?:in|at)|policy)$`)
	// harmlessValue is for what code and schemas have in the place of one.
	harmlessValue = regexp.MustCompile(`^(?i:nil|null|none|true|false|undefined|string|str)[)}\]]*$`)
)

// namesSecret reports whether values of that name are secret.
func namesSecret(name string) bool {
	return secretName.MatchString(name) && !harmlessName.MatchString(name)
}

// secretIn returns where the secret of a match is: nowhere if its name or itself is
// harmless.
func (r rule) secretIn(s string, match []int) (from, to int) {
	groups := match[2:]
	if r.named {
		if harmlessName.MatchString(s[groups[0]:groups[1]]) {
			return 0, 0
		}
		groups = groups[2:]
	}
	from, to = match[0], match[1]
	for g := range slices.Chunk(groups, 2) {
		if g[0] >= 0 {
			from, to = g[0], g[1]
			break
		}
	}
	if r.named && harmlessValue.MatchString(s[from:to]) {
		return 0, 0
	}
	return from, to
}

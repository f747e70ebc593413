package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// secretName finds the names of values in a query that are secrets.
var secretName = regexp.MustCompile(`(?i)key|token|secret|passw|pwd|auth|sig|credential|code|session`)

// longestPublic is the length of the values that are kept: a version or a name is not
// longer, a key is.
const longestPublic = 24

// PublicURL is a base URL that can be written down: without user and password, and
// without those values of the query that look secret. It tells whether there were any.
func PublicURL(baseURL string) (public string, hadSecret bool) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", baseURL != ""
	}
	query := strings.Join(slices.DeleteFunc(strings.Split(u.RawQuery, "&"), isSecret), "&")
	hadSecret = u.User != nil || u.Fragment != "" || query != u.RawQuery
	u.User, u.Fragment, u.RawFragment, u.RawQuery = nil, "", "", query
	return u.String(), hadSecret
}

// isSecret reports whether a part of a query may hold a secret.
func isSecret(pair string) bool {
	name, value, _ := strings.Cut(pair, "=")
	name, err := url.QueryUnescape(name)
	return err != nil || secretName.MatchString(name) || strings.Contains(pair, ";") || max(len(name), len(value)) > longestPublic
}

package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// nameLimit is how long the name of a tool may be for the providers of models.
const nameLimit = 64

// names gives each tool of a server a name that providers take, server__tool. It does not
// depend on the order in which the server lists its tools.
func names(server string, raw []string) map[string]string {
	sorted := slices.Clone(raw)
	slices.SortStableFunc(sorted, func(a, b string) int { // those that stay as they are come first
		switch plainA, plainB := plain(a) == a, plain(b) == b; {
		case plainA == plainB:
			return strings.Compare(a, b)
		case plainA:
			return -1
		}
		return 1
	})
	out := make(map[string]string, len(raw))
	taken := map[string]bool{}
	for _, r := range sorted {
		full := server + "__" + r
		name := plain(server) + "__" + plain(r)
		for salt := full; len(name) > nameLimit || taken[name]; salt += "\x00" {
			name = withDigest(name, salt)
		}
		out[r], taken[name] = name, true
	}
	return out
}

// plain puts _ in the place of what a name may not hold.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}

// withDigest shortens a name and keeps it apart from all others.
func withDigest(name, full string) string {
	sum := sha256.Sum256([]byte(full))
	end := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), nameLimit-len(end))] + end
}

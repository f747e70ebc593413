package openviking

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openrath-go/rath/memory/driver"
)

const (
	remoteScheme = "viking://"
	// noteSuffix is what the file of a note has whose name has no extension that the server
	// takes.
	noteSuffix = ".note.md"
	// maxName is the longest name that the server keeps as it is, in bytes.
	maxName = 255
)

// writable are the extensions that a file must have for the server to make it.
var writable = map[string]bool{
	".md": true, ".txt": true, ".json": true, ".yaml": true, ".yml": true, ".toml": true, ".py": true, ".js": true, ".ts": true,
}

// names translates between the URIs of this module and the server's, as the package says.
type names struct {
	scopes []scope
}

// scope is a folder here, and the one it is on the server.
type scope struct{ local, remote string }

func newNames(user, agent string) names {
	home := remoteScheme + "user/" + user
	remoteAgent := remoteScheme + "agent"
	if agent != "" {
		remoteAgent = home + "/peers/" + escape(agent)
	}
	root := string(driver.Root)
	return names{[]scope{ // the longer ones first
		{root + driver.ScopeSession, home + "/sessions"},
		{root + driver.ScopeAgent, remoteAgent},
		{root + driver.ScopeUser, home},
		{root + driver.ScopeResources, remoteScheme + "resources"},
	}}
}

// folder returns what a folder is called on the server.
func (n names) folder(u driver.URI) (string, error) {
	for _, s := range n.scopes {
		rest, ok := strings.CutPrefix(string(u), s.local)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		segments := strings.Split(rest, "/")
		for i, name := range segments {
			if segments[i] = escape(name); len(segments[i]) > maxName {
				return "", fmt.Errorf("%w: the segment %.40q of %.80q is too long for the server", driver.ErrInvalid, name, u)
			}
		}
		remote := s.remote + strings.Join(segments, "/")
		if back, ok := n.local(remote); !ok || back != u {
			return "", fmt.Errorf("%w: the server has %s at %s", driver.ErrInvalid, u, back)
		}
		return remote, nil
	}
	return "", fmt.Errorf("%w: %s is no folder of the server's", driver.ErrInvalid, u)
}

// file returns what the file of a note is called on the server.
func (n names) file(u driver.URI) (string, error) {
	if u.Parent() == driver.Root {
		return "", fmt.Errorf("%w: %s is no note", driver.ErrNotFound, u)
	}
	remote, err := n.folder(u)
	if err != nil || !needsSuffix(u.Base()) {
		return remote, err
	}
	if len(path.Base(remote)+noteSuffix) > maxName {
		return "", fmt.Errorf("%w: the name %.40q is too long for the server", driver.ErrInvalid, u.Base())
	}
	return remote + noteSuffix, nil
}

func needsSuffix(name string) bool {
	return !writable[strings.ToLower(path.Ext(name))] || strings.HasSuffix(name, noteSuffix)
}

// local returns what a folder of the server is called here; false if it has no name here,
// as with another user's.
func (n names) local(remote string) (driver.URI, bool) {
	remote = strings.TrimSuffix(remote, "/")
	for _, s := range n.scopes {
		rest, ok := strings.CutPrefix(remote, s.remote)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		segments := strings.Split(rest, "/")
		for i, name := range segments {
			segments[i] = unescape(name)
		}
		u, err := driver.ParseURI(s.local + strings.Join(segments, "/"))
		return u, err == nil
	}
	return "", false
}

// note returns the note that a file of the server is.
func (n names) note(remote string) (driver.URI, bool) {
	if bare, ok := strings.CutSuffix(remote, noteSuffix); ok && needsSuffix(unescape(path.Base(bare))) {
		remote = bare
	}
	return n.local(remote)
}

// escape writes a segment so that the server takes it for itself.
func escape(name string) string {
	var b strings.Builder
	for i, r := range name {
		if special(name, i, r) {
			for _, c := range []byte(string(r)) {
				fmt.Fprintf(&b, "%%%02X", c)
			}
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func special(name string, i int, r rune) bool {
	end := i + utf8.RuneLen(r)
	switch {
	case r == '{' || r == '}':
		return true
	case r == '.':
		return i == 0
	case r == ':': // of a drive
		return i == 1 && unicode.IsLetter(rune(name[0])) && name[0] < utf8.RuneSelf
	case r == '%':
		return len(name) >= end+2 && isHex(name[end]) && isHex(name[end+1])
	}
	return unicode.IsSpace(r) && (i == 0 || end == len(name))
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' || c >= 'a' && c <= 'f'
}

// unescape reads what escape wrote, and leaves what it did not write.
func unescape(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] == '%' && i+2 < len(name) && isHex(name[i+1]) && isHex(name[i+2]) {
			var c byte
			fmt.Sscanf(name[i+1:i+3], "%02x", &c)
			b.WriteByte(c)
			i += 2
		} else {
			b.WriteByte(name[i])
		}
	}
	if plain := b.String(); escape(plain) == name {
		return plain
	}
	return name
}

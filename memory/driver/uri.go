package driver

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// URI names a note or a folder: memory://user/memories/preferences/0a1b2c3d. The first
// segment is the scope. Segments are any text without slashes and control characters,
// written as they are. The zero URI names nothing.
type URI string

// Root has the scopes in it.
const Root URI = scheme

const (
	scheme  = "memory://"
	foreign = "viking://" // OpenViking's, and so OpenRath's on the wire
)

// The scopes.
const (
	ScopeUser      = "user"
	ScopeAgent     = "agent"
	ScopeSession   = "session"
	ScopeResources = "resources"
)

// Scopes are the folders of the root.
var Scopes = []string{ScopeAgent, ScopeResources, ScopeSession, ScopeUser}

// The limits of a URI, in bytes.
const (
	MaxURI     = 1024
	MaxSegment = 200
)

// ParseURI reads a URI in its canonical form or with the scheme viking, with or without a
// slash at the end.
func ParseURI(text string) (URI, error) {
	rest, ok := strings.CutPrefix(text, scheme)
	if !ok {
		rest, ok = strings.CutPrefix(text, foreign)
	}
	if !ok {
		return "", fmt.Errorf("%w: %q does not begin with %s", ErrInvalidURI, text, scheme)
	}
	rest = strings.TrimSuffix(rest, "/")
	if rest == "" {
		return Root, nil
	}
	if len(rest) > MaxURI-len(scheme) || !utf8.ValidString(rest) {
		return "", fmt.Errorf("%w: %.80q is longer than %d bytes or no UTF-8", ErrInvalidURI, text, MaxURI)
	}
	for i, segment := range strings.Split(rest, "/") {
		if err := checkSegment(segment); err != nil {
			return "", fmt.Errorf("%w: %q: %w", ErrInvalidURI, text, err)
		}
		if i == 0 && !isScope(segment) {
			return "", fmt.Errorf("%w: %q: the scopes are %s", ErrInvalidURI, text, strings.Join(Scopes, ", "))
		}
	}
	return URI(scheme + rest), nil
}

func checkSegment(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("a segment is empty")
	case s == "." || s == "..":
		return fmt.Errorf("%s is no name", s)
	case len(s) > MaxSegment:
		return fmt.Errorf("the segment %.40q is longer than %d bytes", s, MaxSegment)
	case strings.ContainsFunc(s, func(r rune) bool { return !InSegment(r) }):
		return fmt.Errorf("the segment %q has a backslash, control characters or ends of lines", s)
	}
	return nil
}

// InSegment reports whether a character may be in a segment: it ends no line, and does not
// turn the direction of what follows.
func InSegment(r rune) bool {
	return r != '\\' && r != '/' && !unicode.IsControl(r) && !unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

func isScope(s string) bool {
	for _, scope := range Scopes {
		if s == scope {
			return true
		}
	}
	return false
}

// Path is the URI without its scheme: "user/memories/preferences/0a1b2c3d".
func (u URI) Path() string { return strings.TrimPrefix(string(u), scheme) }

// Scope is the first segment, empty for the root.
func (u URI) Scope() string {
	scope, _, _ := strings.Cut(u.Path(), "/")
	return scope
}

// Base is the last segment, empty for the root.
func (u URI) Base() string {
	p := u.Path()
	return p[strings.LastIndexByte(p, '/')+1:]
}

// Parent is the folder that it is in; the root's is the root.
func (u URI) Parent() URI {
	dir := path.Dir(u.Path())
	if dir == "." {
		return Root
	}
	return URI(scheme + dir)
}

// Join names what is in a folder. It does not check the segments.
func (u URI) Join(segments ...string) URI {
	return URI(scheme + path.Join(append([]string{u.Path()}, segments...)...))
}

// In reports whether it is in a folder, at any depth, or is it.
func (u URI) In(folder URI) bool {
	return folder == Root || u == folder || strings.HasPrefix(string(u), string(folder)+"/")
}

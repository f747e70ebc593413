// Package builtin has the tools that every agent can be given: files, commands and code
// in the session's sandbox. Names, arguments and results are OpenRath's; members that
// OpenRath does not have appear only where something was cut or asked for.
//
// Next: [github.com/openrath-go/rath/tool/mcptool], those of other programs.
package builtin

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/tool"
)

// All returns every built-in tool.
func All() tool.Set {
	return append(ReadOnly(), WriteFile(), EditFile(), Shell(), RunCode())
}

// ReadOnly returns the tools that change nothing.
func ReadOnly() tool.Set {
	return tool.Set{ReadFile(), ListFiles(), PathExists(), FindFiles(), Search()}
}

// on returns the sandbox and the name under which a file is locked.
func on(ctx context.Context, name string) (*sandbox.Sandbox, string, error) {
	sb, err := tool.SandboxOf(ctx)
	if err != nil {
		return nil, "", err
	}
	canonical, err := sb.Canonical(name)
	return sb, canonical, failure(err)
}

func reading(ctx context.Context, name string) ([]tool.Lock, error) {
	_, canonical, err := on(ctx, name)
	return []tool.Lock{tool.ReadFile(canonical)}, err
}

func writing(ctx context.Context, name string) ([]tool.Lock, error) {
	_, canonical, err := on(ctx, name)
	return []tool.Lock{tool.WriteFile(canonical)}, err
}

// failure tells the model in a word what kind of error it met.
func failure(err error) error {
	kind := ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		kind = "path_not_found"
	case errors.Is(err, sandbox.ErrEscape):
		kind = "path_outside_workspace"
	case errors.Is(err, sandbox.ErrNotRegular):
		kind = "not_a_regular_file"
	case errors.Is(err, fs.ErrPermission):
		kind = "permission_denied"
	case errors.Is(err, sandbox.ErrUnsupported):
		kind = "unsupported"
	default:
		return err
	}
	f := &tool.Failure{Kind: kind, Message: err.Error()}
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		f.Detail = h.Hint()
	}
	return f
}

// hidden reports whether search and find leave a folder out: what version control and
// Rath itself keep there is not the user's work.
func hidden(name string) bool { return name == ".git" || name == ".openrath" }

// orRoot is the folder that an omitted path means.
func orRoot(name string) string {
	if name == "" {
		return "."
	}
	return name
}

// matches reports whether a glob matches a slash path: ** stands for any number of
// folders; a pattern without a slash is matched against the last name alone.
func matches(glob, name string) bool {
	if !strings.Contains(glob, "/") {
		return matchPart(glob, path.Base(name))
	}
	return matchParts(strings.Split(strings.TrimPrefix(glob, "./"), "/"), strings.Split(name, "/"))
}

// matchParts tries again from the last ** only: what an earlier one could take more, the
// last one can as well.
func matchParts(globs, names []string) bool {
	g, n := 0, 0
	last, taken := -1, 0 // the last **, and how many names are behind it when it ends
	for n < len(names) {
		switch {
		case g < len(globs) && globs[g] == "**":
			last, taken = g, n
			g++
		case g < len(globs) && matchPart(globs[g], names[n]):
			g, n = g+1, n+1
		case last >= 0:
			taken++
			g, n = last+1, taken
		default:
			return false
		}
	}
	for g < len(globs) && globs[g] == "**" {
		g++
	}
	return g == len(globs)
}

func matchPart(glob, name string) bool {
	ok, err := path.Match(glob, name)
	return ok && err == nil
}

func checkGlob(glob string) error {
	if _, err := path.Match(strings.ReplaceAll(glob, "**", "*"), ""); err != nil {
		return &tool.Failure{Kind: tool.KindInvalidArguments, Message: "the glob " + glob + " is malformed"}
	}
	return nil
}

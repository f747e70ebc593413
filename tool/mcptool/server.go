package mcptool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/llm"
)

// Server says how to reach an MCP server. Exactly one of Command, URL and Transport is
// set.
type Server struct {
	// Name is what the names of its tools begin with. Empty: made of the command or the
	// host.
	Name string

	Command []string          // a program and its arguments
	Env     map[string]string // beside PATH, HOME and the like: nothing else is inherited
	Dir     string            // the program's folder; empty: this program's, or the sandbox's workspace

	URL    string      // of a streamable HTTP endpoint
	Header http.Header // sent there with every request, and nowhere else
	Bearer string      // sent as the Authorization, if Header has none

	// Transport connects to a server in this program, each time anew.
	Transport func(context.Context) (mcp.Transport, error)

	// Timeout ends a call after so long without progress, and after ten times as long in
	// any case. Zero: five minutes.
	Timeout time.Duration
	// IgnoreHints takes every tool for one that changes something, whatever the server says
	// of it.
	IgnoreHints bool
}

// ParseServer reads what names a server on a command line: a URL, or a program and its
// arguments, which may be quoted as in a shell.
func ParseServer(text string) (Server, error) {
	if strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://") {
		s := Server{URL: text}
		return s, s.check()
	}
	args, err := words(text)
	s := Server{Command: args}
	return s, cmp.Or(err, s.check())
}

func (s *Server) check() error {
	ways := 0
	for _, set := range []bool{len(s.Command) > 0, s.URL != "", s.Transport != nil} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return errors.New("exactly one of Command, URL and Transport must be set")
	}
	if s.URL == "" {
		return nil
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("the URL is not one of http or https") // it may be a secret in the wrong place
	}
	return nil
}

// launchers start another program, which an argument of theirs names.
var launchers = []string{"npx", "npm", "uvx", "uv", "pipx", "node", "bun", "deno", "python", "python3", "docker", "podman", "sh", "env", "go", "run", "exec"}

// name makes a name for a server that was given none.
func (s *Server) name() string {
	switch {
	case s.Name != "":
		return s.Name
	case s.URL != "":
		u, _ := url.Parse(s.URL) // it has been checked
		return u.Hostname()
	}
	for _, arg := range s.Command {
		base := strings.TrimSuffix(path.Base(strings.ReplaceAll(arg, `\`, "/")), ".exe")
		if !strings.HasPrefix(arg, "-") && !slices.Contains(launchers, base) {
			before, _, _ := strings.Cut(base, "@")
			return cmp.Or(before, base)
		}
	}
	return "server"
}

// remote reports whether the server is on another machine, where it cannot touch the
// workspace.
func (s *Server) remote() bool {
	u, err := url.Parse(s.URL)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Hostname()
	return host != "localhost" && !net.ParseIP(host).IsLoopback()
}

// secrets are the settings that no text may show: whatever the user has put into the
// environment, the headers and the URL.
func (s *Server) secrets() llm.Secrets {
	u, err := url.Parse(s.URL)
	if err != nil {
		u = &url.URL{}
	}
	header := s.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for _, value := range s.Env {
		header.Add("Env", value)
	}
	return llm.SecretsOf(s.Bearer, u, header)
}

// keyWords are what the name of a setting has that holds a key.
var keyWords = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTHORIZATION", "COOKIE"}

// keys are those of the secrets that are keys by their name.
func (s *Server) keys() llm.Secrets {
	isKey := func(name string) bool {
		return slices.ContainsFunc(keyWords, func(word string) bool { return strings.Contains(strings.ToUpper(name), word) })
	}
	header := http.Header{}
	for name, values := range s.Header {
		if isKey(name) {
			header[name] = values
		}
	}
	for name, value := range s.Env {
		if isKey(name) {
			header.Add("Env", value)
		}
	}
	u := &url.URL{}
	if given, err := url.Parse(s.URL); err == nil {
		query := given.Query()
		maps.DeleteFunc(query, func(name string, _ []string) bool { return !isKey(name) })
		u.User, u.RawQuery = given.User, query.Encode()
	}
	return llm.SecretsOf(s.Bearer, u, header)
}

// inherited are the variables that a server's program gets from this one's environment;
// all others stay behind, keys and tokens above all.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE",
}

// inheritedWindows are what programs there do not start without.
var inheritedWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
}

// environment is what the program gets outside of a sandbox.
func (s *Server) environment() []string {
	names := inherited
	if runtime.GOOS == "windows" {
		names = slices.Concat(inherited, inheritedWindows)
	}
	var env []string
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, s.own()...)
}

// own is what the settings add.
func (s *Server) own() []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		env = append(env, name+"="+s.Env[name])
	}
	return env
}

// words splits a line as a shell does where nothing is expanded.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	open, quote, escaped := false, rune(0), false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && strings.ContainsRune(" \t\n", r):
			if open {
				out = append(out, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("the command %q ends within a quotation", line)
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}

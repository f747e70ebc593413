package cli

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/tool/mcptool"
)

// mcpServer is what is kept of an MCP server. What is secret in its settings is looked up
// anew in the configuration.
type mcpServer struct {
	Name        string        `json:"name,omitempty"`       // empty: made of the command or the host
	Configured  bool          `json:"configured,omitempty"` // the name is one of the configuration
	Command     []string      `json:"command,omitempty"`
	Dir         string        `json:"cwd,omitempty"`
	URL         string        `json:"url,omitempty"`
	SecretURL   bool          `json:"secret_url,omitempty"` // there was more to the URL
	Timeout     time.Duration `json:"timeout_ns,omitempty"`
	IgnoreHints bool          `json:"ignore_hints,omitempty"`

	url string // with its secrets, where it was just given
}

// String names the server for people.
func (s mcpServer) String() string {
	return cmp.Or(s.Name, s.URL, strings.Join(s.Command, " "))
}

// named is NAME=SERVER.
var namedServer = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_-]*)=(.+)$`)

// chooseServer resolves what --mcp names: a server of the configuration, a URL, or a
// command.
func (a *app) chooseServer(text string, inSandbox bool) (mcpServer, error) {
	_, c, err := a.home()
	if err != nil {
		return mcpServer{}, err
	}
	if slices.Contains(c.MCPServers(), text) {
		m, err := c.MCP(text, a.env)
		if err != nil {
			return mcpServer{}, err
		}
		return ofConfig(m, inSandbox)
	}
	name := ""
	if m := namedServer.FindStringSubmatch(text); m != nil {
		name, text = m[1], m[2]
	}
	found, err := mcptool.ParseServer(text)
	if err != nil {
		return mcpServer{}, usage(&hinted{fmt.Errorf("--mcp %q: %w", text, err), "it is " + mcpURLs})
	}
	if len(found.Command) > 0 && !inSandbox {
		if _, err := exec.LookPath(found.Command[0]); err != nil {
			return mcpServer{}, usage(&hinted{fmt.Errorf("%q is no configured server, and no program that can be started: %w", text, err), "install the program, or see rath mcp ls for the configured servers"})
		}
	}
	s := mcpServer{Name: name, Command: found.Command, url: found.URL}
	s.URL, s.SecretURL = config.PublicURL(found.URL)
	return s, s.settle(inSandbox)
}

// ofConfig is what is kept of a configured server.
func ofConfig(m config.MCPServer, inSandbox bool) (mcpServer, error) {
	s := mcpServer{Name: m.Name, Configured: true, Command: m.Command, Dir: m.Dir, Timeout: m.Timeout, IgnoreHints: m.IgnoreHints}
	s.URL, s.SecretURL = config.PublicURL(m.URL)
	return s, s.settle(inSandbox)
}

// settle makes the program's folder one that another process finds again. In a sandbox it
// is the sandbox's.
func (s *mcpServer) settle(inSandbox bool) (err error) {
	if len(s.Command) > 0 && !inSandbox {
		s.Dir, err = filepath.Abs(s.Dir)
	}
	return err
}

// public is the server without its secrets.
func (s mcpServer) public() mcptool.Server {
	return mcptool.Server{Name: s.Name, Command: s.Command, Dir: s.Dir, URL: s.URL, Timeout: s.Timeout, IgnoreHints: s.IgnoreHints}
}

// open is the server with its secrets. A configured one must be what it was: they are for
// that one only.
func (s mcpServer) open(c *config.Config, env config.Env, inSandbox bool) (mcptool.Server, error) {
	found := s.public()
	switch {
	case s.url != "":
		found.URL = s.url
		return found, nil
	case s.SecretURL && !s.Configured:
		err := fmt.Errorf("what was secret in the address %s of an MCP server is not on record", s.URL)
		return found, &hinted{err, "put the server into the configuration, mcp.servers.NAME.url, and begin anew: rath rerun --mcp NAME"}
	case !s.Configured:
		return found, nil
	}
	m, err := c.MCP(s.Name, env)
	if err != nil {
		return found, err
	}
	now, err := ofConfig(m, inSandbox)
	if err == nil && !now.same(s) {
		err = &hinted{fmt.Errorf("the MCP server %s is configured otherwise than when the run began", s.Name), "rath rerun --mcp " + s.Name + " begins anew with what it is now"}
	}
	if err != nil {
		return found, err
	}
	found.URL, found.Env, found.Bearer = m.URL, m.Env, m.BearerToken
	found.Header = http.Header{}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		found.Header.Set(name, m.Headers[name])
	}
	return found, nil
}

// same reports whether two are reached in the same way.
func (s mcpServer) same(other mcpServer) bool {
	return slices.Equal(s.Command, other.Command) && s.Dir == other.Dir && s.URL == other.URL
}

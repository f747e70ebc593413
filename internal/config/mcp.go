package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// What the error of an MCP server wraps that has no settings, and of one that the working
// directory brings along.
var (
	ErrNoServer      = errors.New("there is no such MCP server")
	ErrForeignServer = errors.New("the working directory brings it along, and it could run any program")
)

// MCPServer is how to reach an MCP server: Command or URL is set.
type MCPServer struct {
	Name        string
	Command     []string          // a program and its arguments
	Env         map[string]string // beside little that is inherited
	Dir         string            // "cwd" in the file; empty: this program's
	URL         string
	Headers     map[string]string
	BearerToken string
	Timeout     time.Duration // of a call without progress, seconds in the file; 0: the default
	IgnoreHints bool          // do not believe what it says of its tools' effects
}

// MCPServers returns the names of the servers that have settings, sorted.
func (c *Config) MCPServers() []string {
	names := map[string]bool{}
	for _, file := range []jsontext.Value{c.config, c.credentials} {
		o, err := parseObject(lookup(file, []string{"mcp", "servers"}))
		if err != nil {
			continue // there are none
		}
		for _, m := range o {
			names[m.name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// EnabledMCP returns the names of the servers that every run has.
func (c *Config) EnabledMCP(env Env) ([]string, error) {
	var names []string
	err := c.decode(&names, "mcp", "default_enabled")
	if err == nil && len(names) > 0 && c.foreign(env) {
		err = c.foreignError("mcp.default_enabled")
	}
	if err != nil {
		return nil, err
	}
	return names, nil
}

// MCP returns the settings of a server. Variables and headers may lie in credentials.json,
// which wins. The error is an [*Error]: it wraps [ErrNoServer] if there are none, and
// [ErrForeignServer] if the working directory has chosen the home: a cloned repository
// could name any program.
func (c *Config) MCP(name string, env Env) (MCPServer, error) {
	at := []string{"mcp", "servers", name}
	key := strings.Join(at, ".")
	switch {
	case !c.hasObject(at...):
		return MCPServer{}, &Error{File: c.File(), Key: key, Err: ErrNoServer, hint: "rath config set " + key + ".command 'npx -y SERVER'"}
	case c.foreign(env):
		return MCPServer{}, c.foreignError(key)
	}
	s := MCPServer{Name: name}
	var seconds float64
	in := func(key string) []string { return append(slices.Clip(at), key) }
	err := errors.Join(
		c.decode(&s.Command, in("command")...), c.decode(&s.Dir, in("cwd")...), c.decode(&s.URL, in("url")...),
		c.decode(&s.BearerToken, in("bearer_token")...), c.decode(&seconds, in("timeout")...), c.decode(&s.IgnoreHints, in("ignore_hints")...),
		c.merge(&s.Env, in("env")), c.merge(&s.Headers, in("headers")),
	)
	if err == nil && (len(s.Command) == 0) == (s.URL == "") {
		err = &Error{File: c.File(), Key: key, Err: errors.New("exactly one of command and url must be set")}
	}
	if err == nil && (seconds < 0 || seconds > maxSeconds) {
		err = &Error{File: c.File(), Key: key + ".timeout", Err: errors.New(strconv.FormatFloat(seconds, 'g', -1, 64) + " is no number of seconds for it")}
	}
	s.Timeout = time.Duration(seconds * float64(time.Second))
	return s, err
}

// maxSeconds is a day: more is a mistake.
const maxSeconds = 24 * 60 * 60

// decode reads a setting, and leaves the target as it is where there is none.
func (c *Config) decode(target any, path ...string) error {
	v, file := c.find(path)
	if v == nil || v.Kind() == 'n' {
		return nil
	}
	if err := json.Unmarshal(v, target); err != nil {
		return &Error{File: file, Key: strings.Join(path, "."), Err: errors.New("it has a " + kindName(v.Kind()) + " where something else must be, or in it")} // the value may be secret
	}
	return nil
}

// merge reads an object that both files may have members of.
func (c *Config) merge(target *map[string]string, path []string) error {
	for _, file := range []struct {
		name  string
		value jsontext.Value
	}{{c.File(), c.config}, {c.credentialsFile(), c.credentials}} {
		v := lookup(file.value, path)
		if v == nil || v.Kind() == 'n' {
			continue
		}
		if err := json.Unmarshal(v, target); err != nil {
			return &Error{File: file.name, Key: strings.Join(path, "."), Err: errors.New("it is no object of texts")}
		}
	}
	return nil
}

// foreign reports whether the working directory has chosen the home.
func (c *Config) foreign(env Env) bool {
	home, origin, err := Home(env)
	return err == nil && origin == originWorkDir && home == c.home
}

func (c *Config) foreignError(key string) error {
	return &Error{File: c.File(), Key: key, Err: ErrForeignServer, hint: "if you trust the folder, set OPENRATH_HOME=" + c.home + "; --mcp none goes without"}
}

package config

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func loadMCP(t *testing.T, config, credentials string) *Config {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, "config.json", config)
	put(t, dir, "credentials.json", credentials)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestMCP(t *testing.T) {
	c := loadMCP(t, `{"mcp":{"default_enabled":["files"],"servers":{
		"files":{"command":["npx","server-filesystem","."],"env":{"A":"1","B":"old"},"cwd":"/srv","timeout":2.5,"unknown":1},
		"far":{"url":"https://mcp.example/mcp","headers":{"X-Team":"blue"},"ignore_hints":true}}}}`,
		`{"mcp":{"servers":{"files":{"env":{"B":"sk-0123456789"}},"far":{"bearer_token":"sk-abc"}}}}`)
	for name, want := range map[string]MCPServer{
		"files": {Name: "files", Command: []string{"npx", "server-filesystem", "."}, Env: map[string]string{"A": "1", "B": "sk-0123456789"}, Dir: "/srv", Timeout: 2500 * time.Millisecond},
		"far":   {Name: "far", URL: "https://mcp.example/mcp", Headers: map[string]string{"X-Team": "blue"}, BearerToken: "sk-abc", IgnoreHints: true},
	} {
		got, err := c.MCP(name, env())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if diff := cmp.Diff([]string{"far", "files"}, c.MCPServers()); diff != "" {
		t.Error(diff)
	}
	if names, err := c.EnabledMCP(env()); err != nil || len(names) != 1 || names[0] != "files" {
		t.Error(names, err)
	}
}

func TestNoMCP(t *testing.T) {
	c := loadMCP(t, `{}`, `{}`)
	if names, err := c.EnabledMCP(env()); err != nil || len(names) > 0 || len(c.MCPServers()) > 0 {
		t.Error(names, err)
	}
	var e *Error
	if _, err := c.MCP("typo", env()); !errors.Is(err, ErrNoServer) || !errors.As(err, &e) || !strings.Contains(e.Hint(), "mcp.servers.typo.command") {
		t.Error(err)
	}
}

func TestWrongMCP(t *testing.T) {
	for settings, key := range map[string]string{
		`{}`:                                 "mcp.servers.s",
		`{"command":["x"],"url":"http://h"}`: "mcp.servers.s",
		`{"command":["x",1]}`:                "mcp.servers.s.command",
		`{"command":["x"],"env":{"KEY":77}}`: "mcp.servers.s.env",
		`{"url":"http://h","headers":{"a":["sk-0123"]}}`: "mcp.servers.s.headers",
		`{"command":["x"],"timeout":-1}`:                 "mcp.servers.s.timeout",
		`{"command":["x"],"timeout":1e300}`:              "mcp.servers.s.timeout",
		`{"command":["x"],"ignore_hints":"no"}`:          "mcp.servers.s.ignore_hints",
	} {
		dir := t.TempDir()
		put(t, dir, "config.json", `{"mcp":{"servers":{"s":`+settings+`}}}`)
		c, err := Load(dir)
		if err == nil {
			_, err = c.MCP("s", env())
		}
		var e *Error
		if !errors.As(err, &e) || e.Key != key || strings.Contains(err.Error(), "77") || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%s: %v", settings, err)
		}
	}
}

// A folder may bring servers along, but they do not start because somebody works in it.
func TestForeignMCP(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".openrath", 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, ".openrath", "config.json", `{"mcp":{"default_enabled":["s"],"servers":{"s":{"command":["evil"]}}}}`)
	user := env("HOME", t.TempDir())
	c := loadHome(t, user)
	if names, err := c.EnabledMCP(user); !errors.Is(err, ErrForeignServer) {
		t.Error(names, err)
	}
	var e *Error
	if s, err := c.MCP("s", user); !errors.Is(err, ErrForeignServer) || !errors.As(err, &e) || !strings.Contains(e.Hint(), "OPENRATH_HOME=") {
		t.Error(s, err)
	}
	trusting := env("OPENRATH_HOME", ".openrath")
	if s, err := loadHome(t, trusting).MCP("s", trusting); err != nil || s.Command[0] != "evil" {
		t.Error(s, err)
	}
}

// What may be secret goes into the file for that, and no list shows it.
func TestSetMCP(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "config.json", `{"mcp":{"servers":{"s":{"env":{"TOKEN":"sk-old-0123456789"}}}}}`)
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{
		"command": `["npx","server"]`, "env": `{"TOKEN":"sk-new-0123456789","A":"1"}`, "headers": `{"X-Key":"sk-header-0123456789"}`,
		"bearer_token": "sk-bearer-0123456789", "timeout": "2.5", "ignore_hints": "true", "cwd": "/srv", "url": "http://h/mcp",
	} {
		if err := c.Set("mcp.servers.s."+key, value); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	data, err := os.ReadFile(c.File())
	if err != nil || strings.Contains(string(data), "sk-") {
		t.Error(string(data), err)
	}
	want := map[string]string{
		"command": `["npx","server"]`, "env": `{"TOKEN":"****6789","A":"****"}`, "headers": `{"X-Key":"****6789"}`,
		"bearer_token": "****6789", "timeout": "2.5", "ignore_hints": "true", "cwd": "/srv", "url": "http://h/mcp",
	}
	got := map[string]string{}
	for _, v := range c.List() {
		got[strings.TrimPrefix(v.Key, "mcp.servers.s.")] = v.Text
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, value := range map[string]string{"env": `{"A":["sk-0123456789"]}`, "ignore_hints": "yes", "timeout": "soon", "headers": "sk-0123456789"} {
		if err := c.Set("mcp.servers.s."+key, value); !errors.Is(err, ErrValue) || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%s: %v", key, err)
		}
	}
}

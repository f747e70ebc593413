package config

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
)

// guard keeps a key of the user's own from a server that the working directory chose: a
// cloned repository can bring a ./.openrath with a base_url, and would get the key. A
// key that lies beside the base_url may go there, and so may any where the user has set
// OPENRATH_HOME to the folder, or where the server is none of the folder's. A server on
// this machine is asked without the key: few there want one, and any user of the machine
// can be behind a port. provider is where p is in the files, "llm.providers.main".
func (c *Config) guard(provider string, p *Provider, env Env) error {
	if p.APIKey == "" || !c.foreign(env) || !c.isFile(p.Origins["base_url"]) || c.holds(p.Origins["api_key"]) || official(p) {
		return nil
	}
	const trust = "if you trust the folder, set OPENRATH_HOME="
	if OnThisMachine(p.BaseURL) {
		p.APIKey, p.Origins["api_key"] = "", p.Origins["api_key"]+" is kept back, for the working directory chose the server: "+trust+c.home
		return nil
	}
	return &Error{
		File: p.Origins["base_url"], Key: provider + ".base_url",
		Err:  fmt.Errorf("the working directory chose the server %s, which must not get the key from %s", p.Server(), p.Origins["api_key"]),
		hint: "if you trust the server, name it with --base-url; " + trust + c.home,
	}
}

func (c *Config) isFile(origin string) bool { return slices.Contains(c.Files(), origin) }

// holds reports whether a value's origin is a file that lies in the home itself: a
// symbolic link could lead to the user's own.
func (c *Config) holds(origin string) bool {
	if !c.isFile(origin) {
		return false
	}
	info, err := os.Lstat(origin)
	return err == nil && info.Mode().IsRegular()
}

// officialHosts get a key of their kind anyway.
var officialHosts = map[string]string{"openai": "api.openai.com", "anthropic": "api.anthropic.com"}

// official reports whether the server is the kind's own.
func official(p *Provider) bool {
	u, err := url.Parse(p.BaseURL)
	return err == nil && u.Scheme == "https" && u.Hostname() == officialHosts[p.Kind]
}

// OnThisMachine reports whether a base URL leads nowhere else.
func OnThisMachine(baseURL string) bool {
	u, err := url.Parse(baseURL)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// Server is the base URL without what may be secret in it: user, password, query.
func (p Provider) Server() string {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return "(no URL)"
	}
	if u.User != nil {
		u.User = url.User("redacted")
	}
	if u.RawQuery != "" {
		u.RawQuery = "redacted"
	}
	return u.String()
}

// Package archtest keeps the rooms apart: it fails when a package imports another that
// the table in ARCHITECTURE.md does not let it.
package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/openrath-go/rath"

// may lists for each room which other rooms its packages may import. A room is a folder
// at the top; "*" stands for any, and "/..." for what is below a folder. Packages below a room are of it, unless they have a
// line of their own.
var may = map[string][]string{
	module: {}, // the first page of the packages' tour

	"session": {"sandbox"},
	"effect":  {},
	"graph":   {"session"},
	"store":   {"session"},

	"llm":           {"session", "effect"},
	"llm/llmtest":   {"llm", "llm/scripted", "session"},
	"llm/openai":    {"llm", "session"},
	"llm/anthropic": {"llm", "session"},
	"llm/scripted":  {"llm", "session"},
	"llm/offline":   {"llm", "session"},

	"sandbox":             {"sandbox/driver", "workspace"},
	"sandbox/driver":      {"workspace"},
	"sandbox/sandboxtest": {"sandbox", "sandbox/driver", "workspace"},
	"sandbox/local":       {"sandbox", "sandbox/driver", "sandbox/internal/code", "sandbox/internal/output", "sandbox/internal/shell", "workspace"},
	"sandbox/docker":      {"sandbox", "sandbox/driver", "sandbox/internal/code", "sandbox/internal/mirror", "sandbox/internal/output", "sandbox/internal/owner", "sandbox/internal/shell", "workspace"},
	"sandbox/opensandbox": {"sandbox", "sandbox/driver", "sandbox/internal/code", "sandbox/internal/mirror", "sandbox/internal/output", "sandbox/internal/owner", "sandbox/internal/shell", "workspace"},
	"sandbox/registry":    {"sandbox", "sandbox/driver"},
	"workspace":           {},

	"memory":            {"session", "effect", "memory/driver", "memory/resource"},
	"memory/driver":     {"session"},
	"memory/resource":   {"memory/driver", "session"},
	"memory/memorytest": {"memory/driver", "session"},
	"memory/local":      {"memory", "memory/driver", "session", "internal/sqlitedb"},
	"memory/openviking": {"memory", "memory/driver", "session"},

	"tool":            {"llm", "session", "sandbox", "effect", "internal/telemetry"},
	"tool/builtin":    {"tool", "sandbox", "session", "effect"},
	"tool/policy":     {"tool", "session", "sandbox"},
	"tool/mcptool":    {"tool", "llm", "session", "sandbox", "effect"},
	"tool/memorytool": {"tool", "memory", "session", "effect"},

	"flow":        {"tool", "llm", "memory", "session", "effect", "sandbox", "workspace", "internal/telemetry"},
	"run":         {"flow", "store", "effect", "session", "internal/telemetry"},
	"evidence":    {"graph", "store", "session"},
	"store/jsonl": {"session", "sandbox"}, // sandbox for its portable types, as session has

	"store/sqlite":    {"store", "session", "internal/sqlitedb"},
	"store/storetest": {"store", "session"},

	"internal/config":    {},
	"internal/mcpserver": {},
	"internal/flowfile":  {"flow", "tool", "llm", "memory", "session", "effect"},
	"internal/sqlitedb":  {},
	"internal/telemetry": {"llm", "session", "effect"},
	"internal/archtest":  {},
	"internal/tutorial":  {},
	"internal/cli":       {"*"},
	"cmd/rath":           {"internal/cli"},
	"examples":           {"*"},
	"bench":              {"*"},
}

// sdks are who may import the libraries of one provider, and of the command line.
var sdks = map[string]string{
	"github.com/openai/":      "llm/openai",
	"github.com/anthropics/":  "llm/anthropic",
	"github.com/spf13/":       "internal/cli",
	"github.com/moby/":        "sandbox/docker",
	"modernc.org/":            "internal/sqlitedb",
	"github.com/goccy/":       "internal/flowfile",
	"mvdan.cc/":               "tool/policy",
	"github.com/ledongthuc/":  "memory/resource",
	"github.com/tetratelabs/": "memory/resource",

	// Libraries tell, and the command decides who hears it.
	"go.opentelemetry.io/otel/sdk":       "internal/cli",
	"go.opentelemetry.io/otel/exporters": "internal/cli",
	"go.opentelemetry.io/contrib/":       "internal/cli",
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) (all []pkg) {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room finds the longest entry of the table that a package is in.
func room(p string) string {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := may[p]; ok {
			return p
		}
	}
	return ""
}

func within(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func TestImports(t *testing.T) {
	all := packages(t)
	if len(all) < 15 {
		t.Fatalf("only %d packages were found", len(all))
	}
	for _, p := range all {
		from := strings.TrimPrefix(p.ImportPath, module+"/")
		r := room(from)
		if r == "" {
			t.Errorf("%s is in no room of the table", from)
			continue
		}
		for _, imported := range p.Imports {
			checkSDK(t, from, imported)
			to, ours := strings.CutPrefix(imported, module+"/")
			if ours && !allowed(r, from, to) {
				t.Errorf("%s imports %s: the room %s may import %v", from, to, r, may[r])
			}
		}
	}
}

// allowed: what the table says; within a room, packages see each other.
func allowed(r, from, to string) bool {
	for _, m := range may[r] {
		below, tree := strings.CutSuffix(m, "/...")
		if m == "*" || m == to || tree && within(to, below) {
			return true
		}
	}
	return room(to) == r && from != to
}

func checkSDK(t *testing.T, from, imported string) {
	for prefix, owner := range sdks {
		if strings.HasPrefix(imported, prefix) && !within(from, owner) && !within(from, "bench") {
			t.Errorf("%s imports %s: only %s may", from, imported, owner)
		}
	}
}

func TestTableKnowsItsRooms(t *testing.T) {
	for _, test := range []struct {
		from, to string
		want     bool
	}{
		{"session", "sandbox", true},
		{"session", "sandbox/local", false},
		{"effect", "session", false},
		{"llm/openai", "llm/anthropic", false},
		{"llm/openai", "tool", false},
		{"tool", "flow", false},
		{"flow", "llm/openai", false},
		{"sandbox/docker", "sandbox/internal/mirror", true},
		{"sandbox/docker", "sandbox/local", false},
		{"internal/cli", "llm/openai", true},
	} {
		if got := allowed(room(test.from), test.from, test.to); got != test.want {
			t.Errorf("%s -> %s: allowed is %v", test.from, test.to, got)
		}
	}
}

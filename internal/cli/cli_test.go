package cli_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/openrath-go/rath/internal/cli"
	"github.com/openrath-go/rath/llm/llmtest"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
	"github.com/openrath-go/rath/workspace"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	if os.Getenv(asRath) != "" {
		os.Exit(cli.Main(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){
		"rath":   func() { os.Exit(cli.Main(os.Args[1:])) },
		"forker": forker,
		"asking": asking,
	})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("OPENRATH_HOME", filepath.Join(env.WorkDir, ".openrath"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("ENGINE", os.Getenv("DOCKER_HOST"))
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command takes a second longer under -race
			return nil
		},
		Condition: works,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "flip": flip, "sql": alter, "server": func(ts *testscript.TestScript, _ bool, args []string) { server(t, ts, args) },
			"opensandbox": openSandboxServer, "openviking": openVikingServer,
		},
	})
}

// works is the condition that a level of isolation can be enforced here, or that a Docker
// engine answers.
func works(level string) (bool, error) {
	if level == "docker" {
		_, err := exec.LookPath("busybox")
		return err == nil && exec.Command("docker", "version").Run() == nil, nil
	}
	for _, l := range local.Probe(context.Background()) {
		if l.Level == level {
			return l.Err == nil, nil
		}
	}
	return false, fmt.Errorf("there is no condition %q", level)
}

// forker forks a folder's workspace, changes the fork, and waits to be killed.
func forker() {
	ctx := context.Background()
	st, err := workspace.Open(ctx, filepath.Join(os.Getenv("OPENRATH_HOME"), "workspace"), nil)
	if err == nil {
		var taken *workspace.Snapshot
		if taken, err = st.Snapshot(ctx, os.Args[1]); err == nil {
			var f *workspace.Fork
			if f, err = st.Fork(ctx, taken.ID, nil); err == nil {
				err = os.WriteFile(filepath.Join(f.Dir, "changed"), nil, 0o600)
			}
		}
	}
	if err = errors.Join(err, os.WriteFile("forked", nil, 0o600)); err != nil {
		log.Fatal(err)
	}
	<-make(chan struct{})
}

// code runs a command that must end with the given exit code: code 4 rath run hello.
func code(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if err != nil || neg || len(args) < 2 {
		ts.Fatalf("usage: code N command args...")
	}
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// alter changes the store behind the command's back: sql STATEMENT.
func alter(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", filepath.Join(ts.Getenv("OPENRATH_HOME"), "rath.db"))
	ts.Check(err)
	_, err = db.Exec(args[0])
	ts.Check(errors.Join(err, db.Close()))
}

// flip changes one byte of a file, in the middle of a text: flip FILE REGEXP.
func flip(ts *testscript.TestScript, _ bool, args []string) {
	data := []byte(ts.ReadFile(args[0]))
	at := regexp.MustCompile(args[1]).FindIndex(data)
	if at == nil {
		ts.Fatalf("there is no %s in %s", args[1], args[0])
	}
	data[(at[0]+at[1])/2] ^= 1
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}

// openSandboxServer starts an OpenSandbox server, and points the environment to it:
// opensandbox [FOLDER that it can bind].
func openSandboxServer(ts *testscript.TestScript, _ bool, args []string) {
	opts := &contract.Options{APIKey: "key"}
	for _, dir := range args {
		opts.AllowedHostPaths = append(opts.AllowedHostPaths, ts.MkAbs(dir))
	}
	s, err := contract.New(opts)
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("OPEN_SANDBOX_DOMAIN", strings.TrimPrefix(s.URL(), "http://"))
	ts.Setenv("OPEN_SANDBOX_API_KEY", "key")
}

// server starts a fake of both providers with a script, and points the environment to it.
func server(t *testing.T, ts *testscript.TestScript, args []string) {
	replies, err := scripted.Parse([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	s := llmtest.NewServer(t, replies...)
	if len(args) > 1 {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		s.SetQuirks(llmtest.Quirks{CutAfter: n})
	}
	ts.Setenv("OPENAI_BASE_URL", s.URL+"/v1")
	ts.Setenv("ANTHROPIC_BASE_URL", s.URL)
	ts.Setenv("SERVER", s.URL)
	ts.Setenv("HOST", strings.TrimPrefix(s.URL, "http://"))
}

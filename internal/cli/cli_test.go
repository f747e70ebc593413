package cli_test

import (
	"database/sql"
	"errors"
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
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"rath": func() { os.Exit(cli.Main(os.Args[1:])) },
	})
}

func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("OPENRATH_HOME", filepath.Join(env.WorkDir, ".openrath"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NO_COLOR", "1")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command takes a second longer under -race
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": code, "flip": flip, "sql": alter, "server": func(ts *testscript.TestScript, _ bool, args []string) { server(t, ts, args) },
		},
	})
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

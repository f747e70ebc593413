package local_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// helpRun runs the command $LINE and lives on until its input ends.
func helpRun() {
	sb, err := local.Open(context.Background(), os.TempDir(), &local.Options{Policy: sandbox.Policy{Level: os.Getenv("LEVEL")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = sb.Exec(context.Background(), sandbox.Command{Shell: os.Getenv("LINE"), Stdout: os.Stdout})
	fmt.Println(err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestNoGroupSurvivesTheProgram(t *testing.T) {
	for name, line := range map[string]string{
		"the command itself":             `echo $$; exec sleep 60`,
		"a child":                        `sh -c 'echo $$; exec sleep 60'; true`,
		"in the background":              `env -i sleep 60 & echo $!; wait`,
		"left behind":                    `sleep 60 >/dev/null 2>&1 & echo $!`,
		"a script with files of its own": `exec 3>/dev/null 9>/dev/null; sh -c 'echo $$; exec sleep 60'; true`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := helper(t, "run", "LINE="+line)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer stdin.Close()
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			pid := atoi(t, line)
			until(t, func() bool { return tied(pid) }) // the line may come a moment before
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
			_ = cmd.Wait() // killed, as wanted
			until(t, func() bool { return !runs(pid) })
		})
	}
}

// tied reports whether a process holds a file that signals its owner: O_ASYNC is set last.
func tied(pid int) bool {
	info, _ := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/10", pid))
	_, flags, _ := strings.Cut(string(info), "flags:")
	flags, _, _ = strings.Cut(flags, "\n")
	n, _ := strconv.ParseInt(strings.TrimSpace(flags), 8, 64)
	return n&syscall.O_ASYNC != 0
}

// What commands leave open adds up.
func TestCommandsLeaveNoFiles(t *testing.T) {
	s := open(t, nil)
	count := func() int {
		files, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(files)
	}
	before := count()
	for range 20 {
		if _, err := s.Exec(t.Context(), sandbox.Command{Shell: "true"}); err != nil {
			t.Fatal(err)
		}
		_, _ = s.Exec(t.Context(), sandbox.Command{Args: []string{"/no/such/program"}})
	}
	if after := count(); after > before+4 {
		t.Errorf("%d files are open after, %d before", after, before)
	}
}

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain is the program that dies, when the example starts this one once more.
func TestMain(m *testing.M) {
	if i := slices.Index(os.Args, "-store"); i > 0 {
		os.Args = slices.Concat(os.Args[:1], os.Args[i:]) // without the flags of tests
		main()
		return
	}
	m.Run()
}

func Example() {
	main()
	// Output:
	// posting letter 1
	// posting letter 2
	// the program is gone: exit status 1
	// going on with the run
	// posting letter 3
	// posting letter 4
	// posting letter 5
	// All five letters are posted.
}

// start is this program, keeping its run in a file.
func start(t *testing.T, file string, args ...string) *exec.Cmd {
	return exec.CommandContext(t.Context(), os.Args[0], slices.Concat([]string{"-store", file}, args)...)
}

// What the page says: nothing is posted twice, however often the program is killed and started.
func TestKilled(t *testing.T) {
	for verdict, first := range map[string]int{"done": 2, "not-done": 1} {
		t.Run(verdict, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "letters.db")
			kill(t, start(t, file, "-step", "1h"))
			for range 2 {
				out, err := start(t, file).CombinedOutput()
				if err == nil || strings.Contains(string(out), "posting") || !strings.Contains(string(out), "-settle done or -settle not-done") {
					t.Fatalf("it goes on, and nobody has said what became of letter 1: %v\n%s", err, out)
				}
			}
			want := "going on with the run\n"
			for n := first; n <= 5; n++ {
				want += fmt.Sprintln("posting letter", n)
			}
			out, err := start(t, file, "-settle", verdict).CombinedOutput()
			if err != nil || string(out) != want+"All five letters are posted.\n" {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// kill ends a program while it posts its first letter.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "posting letter 1\n" {
		t.Errorf("%q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

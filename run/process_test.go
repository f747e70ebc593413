package run_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// program is what a process of its own does, so that a test can kill it. Its answer is
// printed as JSON.
type program interface {
	drive() (answer any, err error)
}

// programs are told apart by their types' names.
func programs() map[string]program {
	all := map[string]program{}
	for _, p := range []program{new(crashSpec), new(filesSpec), new(budgetSpec), new(nestedSpec)} {
		all[fmt.Sprintf("%T", p)] = p
	}
	return all
}

const programVariable, specVariable = "RATH_TEST_PROGRAM", "RATH_TEST_SPEC"

// runProgram is the process that gets killed, if this is one.
func runProgram() bool {
	p := programs()[os.Getenv(programVariable)]
	if p == nil {
		return false
	}
	err := json.Unmarshal([]byte(os.Getenv(specVariable)), p)
	var answer any
	if err == nil {
		answer, err = p.drive()
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(answer)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// later is when to kill a process that may live for so long; 0: never.
func later(after time.Duration) <-chan time.Time {
	if after == 0 {
		return nil
	}
	return time.After(after)
}

// process runs a program, and kills it when it is told to; nil: never. It reports whether the
// program came to its end, and puts its answer where answer points.
func process(t *testing.T, p program, kill <-chan time.Time, answer any) (ended bool) {
	t.Helper()
	spec, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%T", programVariable, p), specVariable+"="+string(spec))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-kill:
			_ = cmd.Process.Kill()
		case <-over:
		}
	}()
	err = cmd.Wait()
	close(over)
	if line, _, whole := bytes.Cut(out.Bytes(), []byte("\n")); whole {
		if err := json.Unmarshal(line, answer); err != nil {
			t.Fatalf("the program said %q: %v", line, err)
		}
		return true
	}
	if kill == nil || cmd.ProcessState.Exited() {
		t.Fatalf("the program failed: %v\n%s", err, errs.String())
	}
	return false
}

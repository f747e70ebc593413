package run

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestDeadOwner(t *testing.T) {
	self := newOwner()
	if machine() == "" {
		t.Skip("the machine cannot be named here")
	}
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(self, "/")
	parts[2] = fmt.Sprint(cmd.Process.Pid)
	owner := strings.Join(parts, "/")
	for begin := time.Now(); !dead(owner); time.Sleep(time.Millisecond) { // a zombie, until it is waited for
		if time.Since(begin) > 10*time.Second {
			t.Fatal("a process that has ended is not dead")
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(owner, parts[1], "another+boot", 1)
	for owner, want := range map[string]bool{owner: true, self: false, other: false, "": false, "a/b/c": false} {
		if got := dead(owner); got != want {
			t.Errorf("%q: dead is %v", owner, got)
		}
	}
}

package local_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// helpProtect has a command look for $SECRET in the helper's environment, without the
// protection and with it. It takes an ordinary user, for the superuser sees everything.
func helpProtect() {
	if os.Geteuid() == 0 {
		if err := syscall.Setuid(65534); err != nil {
			fmt.Println(err)
			return
		}
		makeDumpable() // which the change of user has undone
	}
	sb, err := local.Open(context.Background(), os.TempDir(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	look := func() string {
		r, err := sb.Exec(context.Background(), sandbox.Command{Shell: "cat /proc/$PPID/environ"})
		return fmt.Sprint(strings.Contains(r.Stdout, os.Getenv("SECRET")), errText(err))
	}
	before := look()
	err = local.ProtectEnviron()
	fmt.Println(before, look(), errText(err))
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func makeDumpable() {
	_, _, _ = syscall.Syscall(syscall.SYS_PRCTL, syscall.PR_SET_DUMPABLE, 1, 0)
}

func TestProtectEnviron(t *testing.T) {
	out, err := helper(t, "protect", "SECRET=sk-in-the-environment").Output()
	got := strings.TrimSpace(string(out))
	if strings.HasPrefix(got, "false") {
		t.Skip("this system shows no command the environment of its parent")
	}
	if err != nil || got != "true false" {
		t.Errorf("a command sees the secret: without protection and with it %q, %v, want \"true false\"", got, err)
	}
}

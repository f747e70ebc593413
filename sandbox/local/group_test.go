//go:build unix

package local

import (
	"os/exec"
	"testing"
	"time"
)

// The number of a group that is gone can become a stranger's.
func TestGroupOfAStranger(t *testing.T) {
	stranger := exec.CommandContext(t.Context(), "sleep", "1000")
	own(stranger)
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = stranger.Wait()
		close(ended)
	}()
	g := &group{id: stranger.Process.Pid}
	s := groups{list: []*group{g}}
	g.kill()
	s.end()
	select {
	case <-ended:
		t.Error("a stranger was killed")
	case <-time.After(50 * time.Millisecond):
	}
	if len(s.list) > 0 {
		t.Error("a group that is gone is remembered")
	}
	_ = stranger.Process.Kill()
	<-ended
}

func TestEmptyGroupsAreForgotten(t *testing.T) {
	var s groups
	defer s.end()
	for range 20 {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "sleep 0.01 >/dev/null 2>&1 &")
		own(cmd)
		g, err := start(cmd, host{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		s.add(g)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		s.forgetEmpty()
		left := len(s.list)
		s.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(end) {
			t.Skipf("%d ended processes are never buried here", left)
		}
	}
}

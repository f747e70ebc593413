package local_test

import (
	"sync"
	"testing"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

// late takes its time for the first thing that it is given.
type late struct{ once sync.Once }

func (l *late) Write(p []byte) (int, error) {
	l.once.Do(func() { time.Sleep(700 * time.Millisecond) })
	return len(p), nil
}

// What a command has written arrives, also where this process comes to read it long after
// the command's end, and something in the background still holds the stream.
func TestOutputThatIsReadLate(t *testing.T) {
	sb, err := local.Open(t.Context(), t.TempDir(), &local.Options{Policy: sandbox.Policy{Level: sandbox.LevelHost}})
	if err != nil {
		t.Fatal(err)
	}
	defer sb.Close()
	for _, line := range []string{"printf a; sleep 0.1; printf b", "sleep 5 & printf a; sleep 0.1; printf b"} {
		r, err := sb.Exec(t.Context(), sandbox.Command{Shell: line, Stdout: new(late)})
		if err != nil || r.Stdout != "ab" || r.ExitCode != 0 {
			t.Errorf("%s: %+v, %v", line, r, err)
		}
	}
}

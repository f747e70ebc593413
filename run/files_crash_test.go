package run_test

import (
	"context"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/run"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/workspace"
)

var fileCrashes = flag.Int("file-crashes", 0, "how often a run that branches its workspace is killed; 0: 15 times, under -race 4")

// filesSpec is the program of [TestCrashOfFiles].
type filesSpec struct {
	Dir    string // has the store, the snapshots and the workspace
	Run    session.ID
	Resume bool
}

func (c *filesSpec) drive() (any, error) {
	err := c.branch()
	if errors.As(err, new(*run.ReviewError)) || errors.Is(err, store.ErrEndedRun) {
		err = nil
	}
	return nil, err
}

func (c *filesSpec) branch() error {
	ctx := context.Background()
	st, err := c.store(ctx)
	if err != nil {
		return err
	}
	defer st.Close()
	ws, err := c.workspace(ctx)
	if err != nil {
		return err
	}
	sb, err := local.Open(ctx, filepath.Join(c.Dir, "files"), &local.Options{Workspace: ws})
	if err != nil {
		return err
	}
	defer sb.Close()
	place := func(_ context.Context, s session.Session) (session.Session, error) { return s.To(sb), nil }
	r := run.New(st, &run.Options{Place: place})
	var h *run.Handle
	if c.Resume {
		r.Register("files", c.workflow())
		h, err = r.Resume(ctx, c.Run)
	} else {
		h, err = r.Start(ctx, "files", c.workflow(), session.FromUser("go").To(sb), run.WithID(c.Run))
	}
	if err == nil {
		_, err = h.Wait()
	}
	return err
}

func (c *filesSpec) store(ctx context.Context) (store.Store, error) {
	return sqlite.Open(ctx, filepath.Join(c.Dir, "rath.db"), nil)
}

func (c *filesSpec) workspace(ctx context.Context) (*workspace.Store, error) {
	return workspace.Open(ctx, filepath.Join(c.Dir, "snapshots"), nil)
}

// workflow is two branches, one of which branches again. Calls of one branch run alone: what
// one that was killed did is in no version that another has kept.
func (c *filesSpec) workflow() flow.Workflow {
	var calls atomic.Int64
	plain := func(m llm.Model) llm.Model { return m }
	agent := func(name string) flow.Workflow {
		a := lengthening(name, plain, &calls)
		a.Tools[0].Locks = nil
		return a
	}
	return &flow.Parallel{Branches: []flow.Workflow{
		flow.Sequence{agent("a"), &flow.Parallel{Branches: []flow.Workflow{agent("b"), agent("c")}}},
		agent("d"),
	}}
}

// settle says of every call that nobody knows of that it is not done: its fork is gone with
// all that it did there.
func (c *filesSpec) settle(t *testing.T, st store.Store) {
	t.Helper()
	effects, err := store.Effects(st.Events(t.Context(), c.Run, 0))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range effects {
		if x.Class == "mutating" && x.Open() {
			s := store.Settled{Effect: x.ID, Verdict: store.VerdictNotDone, By: "test"}
			if err := run.New(st, nil).Settle(t.Context(), c.Run, s); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A process is killed in the middle of snapshots, forks, merges and what is applied, again
// and again. In the end the workspace is what it would have been, nothing was done twice,
// and what the dead have left is cleaned.
func TestCrashOfFiles(t *testing.T) {
	most := *fileCrashes
	if most == 0 {
		if most = 15; underRace {
			most = 4
		}
	}
	kills := 0
	for round := 0; kills < most; round++ {
		kills += crashOfFiles(t, most-kills)
	}
	t.Logf("killed %d times", kills)
}

func crashOfFiles(t *testing.T, most int) (kills int) {
	t.Helper()
	c := &filesSpec{Dir: t.TempDir()}
	c.Run, _ = session.NewID()
	ws, err := c.workspace(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := filepath.Join(c.Dir, "files")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	st, err := c.store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for {
		after := time.Duration(0)
		if kills < min(most, 6) {
			after = time.Duration(20+rand.IntN(400)) * time.Millisecond
		}
		ended := process(t, c, later(after), new(any))
		if !ended {
			kills++
		}
		got, err := st.Run(t.Context(), c.Run)
		if c.Resume = err == nil; c.Resume && got.State.Ended() {
			if got.State != store.Succeeded {
				t.Fatalf("the run is %s: %s", got.State, got.Error)
			}
			break
		}
		if c.Resume {
			c.settle(t, st)
		}
	}
	var got, want []string
	for _, name := range []string{"a0", "a1", "b0", "b1", "c0", "c1", "d0", "d1"} {
		text, _ := os.ReadFile(filepath.Join(dir, name))
		got, want = append(got, name+": "+string(text)), append(want, name+": line\nline\n")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	collected, err := ws.GC(t.Context(), &workspace.GCOptions{Grace: -1})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range collected.Orphans {
		if o.Err != nil {
			t.Errorf("%s was left: %v", o.Dir, o.Err)
		}
	}
	if mounts, _ := os.ReadFile("/proc/self/mounts"); strings.Contains(string(mounts), c.Dir) {
		t.Errorf("there are mounts left in %s", c.Dir)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Dir, "snapshots", "rath", "forks", "*")); len(left) > 0 {
		t.Errorf("there are forks left: %v", left)
	}
	return kills
}

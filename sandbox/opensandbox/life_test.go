//go:build unix

package opensandbox_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

func client(t *testing.T, s *contract.Server, key string) *opensandbox.Client {
	t.Helper()
	c, err := opensandbox.NewClient(s.URL(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func hint(err error) string {
	var h interface{ Hint() string }
	if !errors.As(err, &h) {
		return ""
	}
	return h.Hint()
}

// until waits for something that another goroutine or process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come about in 20 seconds", what)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	s := serve(t, &contract.Options{APIKey: "right", Egress: "dns"})
	ok := opensandbox.Options{URL: s.URL(), APIKey: "right", Image: "test"}
	for _, test := range []struct {
		name   string
		change func(*opensandbox.Options)
		is     error
		text   string
		hint   string
	}{
		{"no URL", func(o *opensandbox.Options) { o.URL = "" }, nil, "http://localhost:8080", ""},
		{"nothing there", func(o *opensandbox.Options) { o.URL = "http://127.0.0.1:1" }, nil, "connection refused", "check that the server runs"},
		{"no key", func(o *opensandbox.Options) { o.APIKey = "" }, os.ErrPermission, "MISSING_API_KEY", "wants an API key"},
		{"a wrong key", func(o *opensandbox.Options) { o.APIKey = "wrong" }, os.ErrPermission, "INVALID_API_KEY", "does not take"},
		{"no image", func(o *opensandbox.Options) { o.Image = "" }, nil, "exactly one of Image and SnapshotID", ""},
		{"two sources", func(o *opensandbox.Options) { o.SnapshotID = "x" }, nil, "exactly one of Image and SnapshotID", ""},
		{"an unknown snapshot", func(o *opensandbox.Options) { o.Image, o.SnapshotID = "", "x" }, opensandbox.ErrNotFound, "SNAPSHOT::NOT_FOUND", ""},
		{"a bad label", func(o *opensandbox.Options) { o.Metadata = map[string]string{"a b": "c"} }, nil, "INVALID_METADATA_LABEL", ""},
		{"a missing directory", func(o *opensandbox.Options) { o.Dir = "/no/such" }, os.ErrNotExist, "the directory", ""},
		{"another level", func(o *opensandbox.Options) { o.Policy.Level = sandbox.LevelBubblewrap }, sandbox.ErrUnsupported, "server's business", `use level "container"`},
		{"rules for files", func(o *opensandbox.Options) { o.Policy.ReadOnly = []string{"/usr"} }, sandbox.ErrUnsupported, "rules for files", "leave the paths out"},
		{"variables", func(o *opensandbox.Options) { o.Policy.Env = []string{"HOME"} }, sandbox.ErrUnsupported, "inherited variables", "Options.Env"},
		{"processes", func(o *opensandbox.Options) { o.Policy.Limits.Processes = 5 }, sandbox.ErrUnsupported, "the limit of processes", "leave it to the server"},
		{"a network that is none", func(o *opensandbox.Options) { o.Policy.Network = "some" }, sandbox.ErrUnsupported, "no such policy", "choose one of"},
		{"a guard by names only", func(o *opensandbox.Options) { o.Policy.Network = sandbox.NetworkDeny }, sandbox.ErrUnsupported, `enforces it by "dns"`, "nftables"},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := ok
			test.change(&o)
			_, err := opensandbox.Open(t.Context(), &o)
			if err == nil || !strings.Contains(err.Error(), test.text) || test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("the error is %v", err)
			}
			if got := hint(err); !strings.Contains(got, test.hint) {
				t.Errorf("the hint is %q", got)
			}
			if ids := s.IDs(); len(ids) > 0 {
				t.Errorf("sandboxes %v are left", ids)
			}
		})
	}
	if _, err := opensandbox.Open(t.Context(), nil); err == nil {
		t.Error("no options were accepted")
	}
}

func TestNetworkDenied(t *testing.T) {
	s := serve(t, &contract.Options{Egress: "dns+nft"})
	if !s.Isolated() {
		t.Skip("the contract server cannot deny networks without bwrap")
	}
	sb := open(t, s, opensandbox.Options{Policy: sandbox.Policy{Network: sandbox.NetworkDeny}})
	if c := sb.Capabilities(); !c.NetDeny || sb.Policy().Network != sandbox.NetworkDeny {
		t.Errorf("%+v, %+v", c, sb.Policy())
	}
	if got := shell(t, sb, "ls /sys/class/net >/dev/null; cat /proc/net/dev | grep -c : || true"); got == "" {
		t.Error("there is no /proc/net/dev")
	}
	plain := serve(t, nil) // has no guard
	_, err := opensandbox.Open(t.Context(), &opensandbox.Options{URL: plain.URL(), Image: "test", Policy: sandbox.Policy{Network: sandbox.NetworkLoopback}})
	var refusal *sandbox.PolicyError
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Missing, "loopback") {
		t.Errorf("a server without a guard: %v", err)
	}
	// One that was made with an open network cannot be attached under a policy.
	o := opensandbox.Options{URL: s.URL(), Image: "test", Persistent: true}
	left, err := opensandbox.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	left.Close()
	o.Policy.Network, o.Persistent = sandbox.NetworkDeny, false
	if _, err := opensandbox.Attach(t.Context(), left.ID(), &o); !errors.As(err, &refusal) {
		t.Errorf("attach: %v", err)
	}
}

func TestAttach(t *testing.T) {
	s := serve(t, &contract.Options{Start: 100 * time.Millisecond})
	c := client(t, s, "")
	o := opensandbox.Options{URL: s.URL(), Image: "test", Name: "my sandbox!", Persistent: true}
	first, err := opensandbox.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	shell(t, first, "echo kept >f; setsid sleep 3456.789 >/dev/null 2>&1 &")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if out, _ := exec.Command("pgrep", "-f", "sleep 3456.789").Output(); len(out) > 0 {
		t.Errorf("processes live on: %s", out)
	}
	info, err := c.Get(t.Context(), first.ID())
	if err != nil || info.Name() != "my-sandbox" || !info.Persistent() || info.Orphaned() {
		t.Errorf("the server knows %+v, %v", info, err)
	}
	second, err := opensandbox.Attach(t.Context(), first.ID(), &opensandbox.Options{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	if got := shell(t, second, "cat f"); got != "kept\n" || second.ID() != first.ID() {
		t.Errorf("%s has %q", second.ID(), got)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), first.ID()); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("it should be deleted: %v", err)
	}
	_, err = opensandbox.Attach(t.Context(), first.ID(), &opensandbox.Options{URL: s.URL()})
	if !errors.Is(err, opensandbox.ErrNotFound) || !strings.Contains(err.Error(), first.ID()) {
		t.Errorf("attach to what is gone: %v", err)
	}
}

func TestClient(t *testing.T) {
	s := serve(t, &contract.Options{APIKey: "k"})
	c, ctx := client(t, s, "k"), t.Context()
	var ids []string
	for _, name := range []string{"a", "b"} {
		sb, err := opensandbox.Open(ctx, &opensandbox.Options{URL: s.URL(), APIKey: "k", Image: "test", Name: name, Metadata: map[string]string{"team": "x"}, Timeout: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sb.Close() })
		ids = append(ids, sb.ID())
	}
	if err := c.Pause(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	paused := opensandbox.Marked()
	paused.States, paused.Metadata["team"] = []string{opensandbox.StatePaused}, "x"
	found, err := c.List(ctx, paused)
	if err != nil || len(found) != 1 || found[0].ID != ids[0] || found[0].Image.URI != "test" || found[0].Name() != "a" {
		t.Errorf("paused are %+v, %v", found, err)
	}
	if err := c.Pause(ctx, ids[0]); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("pause again: %v", err)
	}
	if err := c.Resume(ctx, ids[0]); err != nil {
		t.Fatal(err)
	}
	info, err := c.Get(ctx, ids[0])
	if err != nil || info.Status.State != opensandbox.StateRunning {
		t.Errorf("%+v, %v", info, err)
	}
	later := info.ExpiresAt.Add(time.Minute)
	if until, err := c.Renew(ctx, ids[0], later); err != nil || !until.Equal(later) {
		t.Errorf("renewed until %v, %v", until, err)
	}
	if _, err := c.Renew(ctx, ids[0], later); err == nil || !strings.Contains(err.Error(), "EXPIRATION_NOT_EXTENDED") {
		t.Errorf("renew to the same: %v", err)
	}
	if err := c.Delete(ctx, "nope"); !errors.Is(err, opensandbox.ErrNotFound) {
		t.Errorf("delete an unknown one: %v", err)
	}
}

func TestListPages(t *testing.T) {
	s := serve(t, nil)
	c := client(t, s, "")
	for range 103 {
		resp, err := http.Post(s.URL()+"/v1/sandboxes", "application/json", strings.NewReader(`{"image":{"uri":"x"},"entrypoint":["x"],"resourceLimits":{}}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	all, err := c.List(t.Context(), opensandbox.Filter{})
	if err != nil || len(all) != 103 {
		t.Errorf("%d of 103, %v", len(all), err)
	}
}

func TestOrphans(t *testing.T) {
	s := serve(t, nil)
	c := client(t, s, "")
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	sb := open(t, s, opensandbox.Options{})
	info, err := c.Get(t.Context(), sb.ID())
	if err != nil || info.Orphaned() {
		t.Errorf("one in use: %+v, %v", info, err)
	}
	for _, test := range []struct {
		change map[string]string
		want   bool
	}{
		{map[string]string{"rath-pid": itoa(dead.Process.Pid)}, true},
		{map[string]string{"rath-pid": itoa(dead.Process.Pid), "rath-host": "other"}, false},
		{map[string]string{"rath-pid": itoa(dead.Process.Pid), "rath-persistent": "1"}, false},
		{map[string]string{"rath-pid": itoa(dead.Process.Pid), "rath": "2"}, false},
		{map[string]string{"rath-pid": "none"}, false},
	} {
		changed := info
		changed.Metadata = map[string]string{}
		for _, m := range []map[string]string{info.Metadata, test.change} {
			for key, value := range m {
				changed.Metadata[key] = value
			}
		}
		if got := changed.Orphaned(); got != test.want {
			t.Errorf("%v: orphaned is %v", test.change, got)
		}
	}
}

func TestRenewed(t *testing.T) {
	s := serve(t, &contract.Options{Life: time.Second})
	sb := open(t, s, opensandbox.Options{})
	id := sb.ID()
	until(t, "three renewals", func() bool { return s.Count("POST /v1/sandboxes/"+id+"/renew-expiration") >= 3 })
	s.Inject(contract.Fault{Path: "/renew-expiration", Times: 2, Status: http.StatusInternalServerError, Body: `{"code":"X","message":"busy"}`})
	n := s.Count("POST /v1/sandboxes/" + id + "/renew-expiration")
	until(t, "renewals after failures", func() bool { return s.Count("POST /v1/sandboxes/"+id+"/renew-expiration") >= n+5 })
	if got := shell(t, sb, "echo alive"); got != "alive\n" {
		t.Errorf("it says %q", got)
	}
}

func TestExpired(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	begun := make(chan struct{})
	var once sync.Once
	live := writer(func(p []byte) { once.Do(func() { close(begun) }) })
	done := make(chan error, 1)
	go func() {
		r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo begun; sleep 600", Stdout: live})
		if r.Stdout != "begun\n" {
			t.Errorf("what came before is %q", r.Stdout)
		}
		done <- err
	}()
	<-begun
	s.Expire(sb.ID())
	var gone *opensandbox.GoneError
	for _, err := range []error{<-done, second(sb.ReadFile(t.Context(), "f")), second(sb.List(t.Context(), "."))} {
		if !errors.As(err, &gone) || !errors.Is(err, opensandbox.ErrNotFound) || !strings.Contains(hint(err), "open a new one") {
			t.Errorf("the error is %v", err)
		}
	}
	if err := sb.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestPausedSaysSo(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{})
	c := client(t, s, "")
	if err := c.Pause(t.Context(), sb.ID()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := sb.Exec(ctx, sandbox.Command{Shell: "true"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a paused one: %v", err)
	}
	if err := c.Resume(t.Context(), sb.ID()); err != nil {
		t.Fatal(err)
	}
	// The daemon finds now that a client has hung up, and passes the signal on.
	until(t, "a command that nothing disturbs", func() bool {
		r, err := sb.Exec(t.Context(), sandbox.Command{Shell: "echo on"})
		return err == nil && r.Stdout == "on\n" && r.ExitCode == 0
	})
}

// The program that opens a sandbox is killed, and another one finds what it has left.
func TestKilledLeavesOrphan(t *testing.T) {
	s := serve(t, nil)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperEnv+"="+s.URL())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	id := strings.TrimSpace(string(buf[:n]))
	c := client(t, s, "")
	if info, err := c.Get(t.Context(), id); err != nil || info.Orphaned() {
		t.Errorf("while it lives: %+v, %v", info, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	found, err := c.List(t.Context(), opensandbox.Marked())
	if err != nil || len(found) != 1 || !found[0].Orphaned() {
		t.Fatalf("found %+v, %v", found, err)
	}
	if err := c.Delete(t.Context(), found[0].ID); err != nil {
		t.Error(err)
	}
}

func TestPlacement(t *testing.T) {
	s := serve(t, nil)
	sb := open(t, s, opensandbox.Options{Env: map[string]string{"A": "1"}, Workspace: store(t)})
	want := sandbox.Placement{Backend: "opensandbox", Level: "container", ID: s.IDs()[0], Forkable: true, Spec: sandbox.Spec{
		Image: "test", Env: map[string]string{"A": "1"}, Timeout: 10 * time.Minute, WorkingDir: "/workspace",
	}}
	if diff := cmp.Diff(want, sb.Placement()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := shell(t, sb, "echo $A"); got != "1\n" {
		t.Errorf("A is %q", got)
	}
}

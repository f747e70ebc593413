package registry

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/openrath-go/rath/sandbox/driver"
)

var same = []cmp.Option{cmpopts.IgnoreUnexported(Entry{}), cmpopts.EquateApproxTime(time.Microsecond), cmpopts.EquateErrors()}

func put(t *testing.T, r *Registry, name, text string) {
	t.Helper()
	name = filepath.Join(r.dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, r *Registry, e Entry) Entry {
	t.Helper()
	e, err := r.Add(e)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func list(t *testing.T, r *Registry) []Entry {
	t.Helper()
	all, err := r.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnEntryComesBackAsItWas(t *testing.T) {
	r := New(filepath.Join(t.TempDir(), "sandboxes"))
	if got := list(t, r); got != nil {
		t.Errorf("a registry that is not there has %v", got)
	}
	want := []Entry{
		add(t, r, Entry{Name: "desk", Backend: local}),
		add(t, r, Entry{Name: "project", Backend: local, Spec: driver.Spec{WorkingDir: "/home/me/project"}}),
		add(t, r, Entry{
			Name: "box", Backend: "docker", Remote: "0123abc",
			Spec: driver.Spec{
				Image: "debian:12", Entrypoint: []string{"sleep", "inf"}, Env: map[string]string{"A": "b"},
				Timeout: 90 * time.Second, WorkingDir: "/home/me/project",
			},
			Policy: driver.Policy{
				Level: "container", Network: driver.NetworkDeny, ReadOnly: []string{"/r"}, Writable: []string{"/w"}, Env: []string{"LANG"},
				Limits: driver.Limits{CPU: time.Second, Memory: 1 << 30, FileSize: 1 << 20, Processes: 50, OpenFiles: 100},
			},
		}),
	}
	if diff := cmp.Diff(want, list(t, r), same...); diff != "" {
		t.Error(diff)
	}
	for _, e := range want {
		for _, text := range []string{e.Name, e.ID, e.ID[:len(e.ID)-1]} {
			if got, err := r.Find(text); err != nil || got.ID != e.ID {
				t.Errorf("find %q: %v, %v", text, got, err)
			}
		}
	}
	if info, err := os.Stat(want[0].Spec.WorkingDir); err != nil || !info.IsDir() || !want[0].Owned || want[1].Owned {
		t.Errorf("the workspaces: %v, owned %v and %v", err, want[0].Owned, want[1].Owned)
	}
}

// The form of OpenRath's files, with members that it does not have today.
const ofOpenRath = `{"schema_version": 1, "id": "0198c0de-0000-4000-8000-000000000001", "backend": "cubesandbox", "remote_id": "sb-1",
 "spec": {"image": "opensandbox/code-interpreter:v1.1.0", "entrypoint": null, "env": {"A": "b"}, "timeout_seconds": 600.0, "working_dir": null, "later": [1]},
 "created_at": "2026-11-21T04:25:41.123456+00:00", "last_used_at": "2026-11-21T04:25:42+00:00", "more": {"x": 1}}`

func TestWhatOpenRathMadeIsFoundAndKept(t *testing.T) {
	r := New(t.TempDir())
	const remote, dir = "0198c0de-0000-4000-8000-000000000001", "0198c0de-0000-4000-8000-000000000002"
	put(t, r, "opensandbox/"+remote+".json", ofOpenRath)
	put(t, r, "local/"+dir+"/notes.txt", "kept")
	put(t, r, "local/no-id/x", "")
	put(t, r, "local/README", "")

	e, err := r.Find(remote)
	want := Entry{
		ID: remote, Backend: "cubesandbox", Remote: "sb-1",
		Spec:    driver.Spec{Image: "opensandbox/code-interpreter:v1.1.0", Env: map[string]string{"A": "b"}, Timeout: 10 * time.Minute},
		Created: time.Date(2026, 11, 21, 4, 25, 41, 123456000, time.UTC), Used: time.Date(2026, 11, 21, 4, 25, 42, 0, time.UTC),
	}
	if diff := cmp.Diff(want, e, same...); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := r.Touch(e); err != nil {
		t.Fatal(err)
	}
	data, _ := os.ReadFile(r.file("opensandbox", remote))
	for _, kept := range []string{`"more"`, `"later"`, `"2026-11-21T04:25:41.123456+00:00"`, `"entrypoint": null`} {
		if !strings.Contains(string(data), kept) {
			t.Errorf("there is no %s any more: %s", kept, data)
		}
	}
	if got, err := r.Find(remote); err != nil || time.Since(got.Used) > time.Hour {
		t.Errorf("used %v, %v", got.Used, err)
	}

	e, err = r.Find(dir)
	if err != nil || e.Name != "" || !e.Owned || e.Spec.WorkingDir != filepath.Join(r.dir, "local", dir) {
		t.Errorf("the directory: %+v, %v", e, err)
	}
	if len(list(t, r)) != 2 {
		t.Errorf("there are %v", list(t, r))
	}
	if err := errors.Join(r.Touch(e), r.Remove(e)); err != nil {
		t.Error(err)
	}
	if _, err := r.Find(dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("removed, it gives %v", err)
	}
}

func TestNames(t *testing.T) {
	r := New(t.TempDir())
	add(t, r, Entry{Name: "taken", Backend: local})
	for _, test := range []struct {
		name string
		want error
	}{
		{"a", nil}, {"web.1_x-Y", nil}, {strings.Repeat("a", 63), nil},
		{"", ErrName}, {".", ErrName}, {"-a", ErrName}, {"a/b", ErrName}, {"a b", ErrName}, {"a\n", ErrName}, {"ü", ErrName},
		{strings.Repeat("a", 64), ErrName}, {"0198C0DE-0000-4000-8000-000000000002", ErrName},
		{"taken", ErrTaken},
	} {
		_, err := r.Add(Entry{Name: test.name, Backend: local})
		if !errors.Is(err, test.want) {
			t.Errorf("%q: %v, want %v", test.name, err, test.want)
		}
		var e *Error
		if test.want != nil && (!errors.As(err, &e) || e.Hint() == "") {
			t.Errorf("%q: no hint in %v", test.name, err)
		}
	}
}

func TestDamagedEntries(t *testing.T) {
	for name, text := range map[string]string{
		"empty":  "",
		"cut":    ofOpenRath[:100],
		"newer":  strings.Replace(ofOpenRath, `"schema_version": 1`, `"schema_version": 2`, 1),
		"moved":  strings.Replace(ofOpenRath, "0001", "0009", 1),
		"local":  strings.Replace(ofOpenRath, "cubesandbox", local, 1),
		"nobody": strings.Replace(ofOpenRath, "sb-1", "", 1),
	} {
		r := New(t.TempDir())
		const id = "0198c0de-0000-4000-8000-000000000001"
		put(t, r, "opensandbox/"+id+".json", text)
		_, err := r.Find(id)
		var e *Error
		if !errors.Is(err, ErrDamaged) || !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("%s: %v", name, err)
		}
		all := list(t, r)
		if len(all) != 1 || all[0].ID != id || all[0].Backend != "opensandbox" || all[0].Problem == nil {
			t.Errorf("%s: listed as %+v", name, all)
		}
		if err := errors.Join(r.Remove(all[0])); err != nil || len(list(t, r)) != 0 {
			t.Errorf("%s: it cannot be removed: %v", name, err)
		}
	}
}

// A rule that is left out would be one that nobody keeps to.
func TestRulesThatAreNotKnown(t *testing.T) {
	for policy, damaged := range map[string]bool{
		`null`: false, `{}`: false, `{"level": "host", "cpu_seconds": 1.5}`: false,
		`{"max_memory": 1}`: true, `{"Network": "deny"}`: true, `{"network": "deny", "later": null}`: true,
		`{"cpu_seconds": -1}`: true, `{"memory_bytes": -1}`: true, `{"file_size_bytes": -1}`: true,
		`{"processes": -1}`: true, `{"open_files": -1}`: true, `{"cpu_seconds": 1e12}`: true, `{"memory_bytes": "1G"}`: true,
	} {
		r := New(t.TempDir())
		const id = "0198c0de-0000-4000-8000-000000000001"
		put(t, r, "opensandbox/"+id+".json", strings.Replace(ofOpenRath, `"more"`, `"rath": {"name": "n", "later": 1, "policy": `+policy+`}, "more"`, 1))
		if _, err := r.Find(id); errors.Is(err, ErrDamaged) != damaged || (err != nil) != damaged {
			t.Errorf("%s: %v", policy, err)
		}
	}
}

// The folder of a damaged entry goes with it: it would come back as one without a name.
func TestRemoveADamagedWorkspace(t *testing.T) {
	r := New(t.TempDir())
	e := add(t, r, Entry{Name: "desk", Backend: local})
	put(t, r, "local/"+e.ID+".json", "{")
	bad, err := r.Find(e.ID)
	if !errors.Is(err, ErrDamaged) || !bad.Owned || bad.Spec.WorkingDir != e.Spec.WorkingDir {
		t.Errorf("%+v, %v", bad, err)
	}
	if err := r.Remove(bad); err != nil || len(list(t, r)) != 0 {
		t.Errorf("%v, left: %v", err, list(t, r))
	}
	if _, err := os.Stat(e.Spec.WorkingDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace: %v", err)
	}
}

func TestIDsThatBeginAlike(t *testing.T) {
	r := New(t.TempDir())
	for _, end := range []string{"1", "2"} {
		put(t, r, "local/0198c0de-0000-4000-8000-00000000000"+end+"/x", "")
	}
	if _, err := r.Find("0198c0"); err == nil || !strings.Contains(err.Error(), "2 ids begin so") {
		t.Error(err)
	}
	if _, err := r.Find(""); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

func TestRemoveLeavesWhatIsNotTheRegistrys(t *testing.T) {
	r, theirs := New(t.TempDir()), t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "kept"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	named := add(t, r, Entry{Name: "theirs", Backend: local, Spec: driver.Spec{WorkingDir: theirs}})
	owned := add(t, r, Entry{Name: "own", Backend: local})
	if err := os.Symlink(theirs, filepath.Join(owned.Spec.WorkingDir, "link")); err != nil {
		t.Skip(err)
	}
	if err := errors.Join(r.Remove(named), r.Remove(owned), r.Remove(owned)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(theirs, "kept")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(owned.Spec.WorkingDir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the workspace is still there: %v", err)
	}
}

// Many processes add, touch and remove at once, and some are killed while they do: every
// name has one owner, and every file is whole.
func TestManyProcesses(t *testing.T) {
	if dir := os.Getenv("REGISTRY_CROWD"); dir != "" {
		crowd(New(dir), os.Getenv("REGISTRY_WORKER"))
		return
	}
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	r := New(t.TempDir())
	var wg sync.WaitGroup
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestManyProcesses$")
		cmd.Env = append(os.Environ(), "REGISTRY_CROWD="+r.dir, fmt.Sprint("REGISTRY_WORKER=", i))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if i%3 == 0 { // at whatever moment this finds it
				for len(list(t, r)) == 0 {
				}
				_ = cmd.Process.Kill()
			}
			_ = cmd.Wait()
		})
	}
	wg.Wait()
	names := make(map[string]bool)
	for _, e := range list(t, r) {
		if e.Problem != nil {
			t.Errorf("%s: %v", e.ID, e.Problem)
		}
		if e.Name != "" && names[e.Name] {
			t.Errorf("two are named %q", e.Name)
		}
		names[e.Name] = true
	}
	if !names["kept"] {
		t.Error("the one that is never removed is gone")
	}
	add(t, r, Entry{Name: "after", Backend: local}) // it clears away what the killed ones left
	if left, _ := filepath.Glob(filepath.Join(r.dir, local, temporary+"*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// crowd is what one of the processes does.
func crowd(r *Registry, worker string) {
	for i := range 60 {
		_, _ = r.Add(Entry{Name: "kept", Backend: local})
		e, err := r.Add(Entry{Name: fmt.Sprint("shared", i%4), Backend: local})
		own, ownErr := r.Add(Entry{Name: "own" + worker, Backend: local})
		if all, _ := r.List(); len(all) > 0 {
			_ = r.Touch(all[0])
		}
		if err == nil {
			_ = r.Remove(e)
		}
		if ownErr == nil {
			_ = r.Remove(own)
		}
	}
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
)

// openSandboxServer is where OpenRath's variables say that the server is.
func openSandboxServer() (url, key string) {
	return cmp.Or(os.Getenv("OPEN_SANDBOX_DOMAIN"), os.Getenv("OPENSANDBOX_DOMAIN")), os.Getenv("OPEN_SANDBOX_API_KEY")
}

var errNoServer = &hinted{
	errors.New("no OpenSandbox server is configured"),
	"set OPEN_SANDBOX_DOMAIN to its address, such as localhost:8080, and OPEN_SANDBOX_API_KEY if it wants one",
}

// openSandboxClient returns a client of the server.
func openSandboxClient() (*opensandbox.Client, error) {
	url, key := openSandboxServer()
	if url == "" {
		return nil, errNoServer
	}
	return opensandbox.NewClient(url, key, nil)
}

// openSandboxOptions are what holds for new sandboxes and for old ones.
func openSandboxOptions(ctx context.Context, o opening) (*opensandbox.Options, error) {
	url, key := openSandboxServer()
	if url == "" {
		return nil, errNoServer
	}
	opts := &opensandbox.Options{
		URL: url, APIKey: key, Policy: o.Policy, Dir: o.Dir,
		StrictBind: isOn(os.Getenv("RATH_OPENSANDBOX_STRICT_WORKSPACE_BIND")),
	}
	if o.Dir != "" {
		opts.Exclude = append(excluded(o.Dir, o.hidden(o.Dir)), ".openrath")
	}
	var err error
	opts.Workspace, err = o.workspaces(ctx, o.Dir, opts.Exclude)
	return opts, err
}

// isOn reads a variable that is a switch.
func isOn(text string) bool {
	switch strings.ToLower(text) {
	case "", "0", "false", "no", "off":
		return false
	}
	return true
}

func openOpenSandbox(ctx context.Context, o opening, keep *keeping) (*sandbox.Sandbox, error) {
	opts, err := openSandboxOptions(ctx, o)
	if err != nil {
		return nil, err
	}
	opts.Image = o.name
	if keep != nil {
		opts.Name, opts.Persistent, opts.Timeout = keep.name, true, cmp.Or(keep.lifetime, -1)
		opts.Metadata = map[string]string{labelHome: homeMark(o.home)}
	}
	return opensandbox.Open(ctx, opts)
}

func attachOpenSandbox(ctx context.Context, o opening, id string) (*sandbox.Sandbox, error) {
	opts, err := openSandboxOptions(ctx, o)
	if err != nil {
		return nil, err
	}
	opts.Persistent = true
	sb, err := opensandbox.Attach(ctx, id, opts)
	if errors.Is(err, opensandbox.ErrNotFound) {
		err = &hinted{err, "it has expired, or somebody has removed it: rath sandboxes rm forgets it"}
	}
	return sb, err
}

func endOpenSandbox(ctx context.Context, id string) error {
	c, err := openSandboxClient()
	if err != nil {
		return err
	}
	defer c.Close()
	return unlessGone(c.Delete(ctx, id))
}

// labelHome says in which home a sandbox that stays is registered.
const labelHome = "rath-home"

// collectOpenSandboxes removes the sandboxes whose program is gone, and those which were
// to stay in this home, but came not so far as to be registered.
func collectOpenSandboxes(ctx context.Context, home string, kept map[string]bool) (found []leftover, err error) {
	c, err := openSandboxClient()
	if err == error(errNoServer) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	all, err := c.List(ctx, opensandbox.Marked())
	if err != nil {
		return nil, fmt.Errorf("list the sandboxes of the OpenSandbox server: %w", err)
	}
	for _, s := range all {
		lost := s.Metadata[labelHome] == homeMark(home) && time.Since(s.CreatedAt) > registering
		if !kept[s.ID] && (lost || s.Orphaned()) {
			found = append(found, removed("sandbox", s.ID, unlessGone(c.Delete(ctx, s.ID))))
		}
	}
	snapshots, err := c.Snapshots(ctx)
	if errors.Is(err, sandbox.ErrUnsupported) {
		return found, nil
	}
	for _, s := range snapshots {
		if s.Orphaned() {
			found = append(found, removed("snapshot", s.ID, unlessGone(c.DeleteSnapshot(ctx, s.ID))))
		}
	}
	return found, err
}

// unlessGone takes what is not there any more for removed.
func unlessGone(err error) error {
	if errors.Is(err, opensandbox.ErrNotFound) {
		return nil
	}
	return err
}

// examineOpenSandbox says whether the server answers, if there is one.
func examineOpenSandbox(ctx context.Context) []finding {
	url, _ := openSandboxServer()
	if url == "" {
		return nil
	}
	c, err := openSandboxClient()
	if err != nil {
		return []finding{{"sandbox", "problem", "opensandbox: " + withHint(err)}}
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	all, err := c.List(ctx, opensandbox.Marked())
	if err != nil {
		return []finding{{"sandbox", "problem", "opensandbox: " + withHint(err)}}
	}
	return []finding{{"sandbox", "ok", fmt.Sprintf("opensandbox: the server at %s answers; sandboxes of Rath's: %d", url, len(all))}}
}

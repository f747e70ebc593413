package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/registry"
)

// remote is a kind of sandbox that some server keeps: it has an id there, by which it can
// be taken up again.
type remote struct {
	// open makes one of an image; one that stays has a name.
	open func(ctx context.Context, o opening, keep *keeping) (*sandbox.Sandbox, error)
	// attach takes one up that stays.
	attach func(ctx context.Context, o opening, id string) (*sandbox.Sandbox, error)
	// end removes one. It is no error if it is gone.
	end func(ctx context.Context, id string) error
	// collect removes those that were left behind, but not these.
	collect func(ctx context.Context, home string, kept map[string]bool) ([]leftover, error)
}

// keeping is how a sandbox is made that stays.
type keeping struct {
	name     string
	lifetime time.Duration // without use; 0: until it is removed
}

// remotes are the kinds, by the scheme of their URL.
var remotes = map[string]remote{
	"docker":      {openDocker, attachDocker, endDocker, collectContainers},
	"opensandbox": {openOpenSandbox, attachOpenSandbox, endOpenSandbox, collectOpenSandboxes},
}

// openRemote opens the sandbox of an image.
func openRemote(ctx context.Context, scheme string, o opening, keep *keeping) (*sandbox.Sandbox, error) {
	if o.name == "" {
		return nil, usage(&hinted{fmt.Errorf("--sandbox %s names no image", scheme), "--sandbox " + scheme + ":IMAGE"})
	}
	sb, err := remotes[scheme].open(ctx, o, keep)
	if err == nil && o.Dir != "" {
		o.Uploaded = sb.Placement().Spec.WorkingDir != resolved(o.Dir)
	}
	return sb, err
}

// attachRemote takes a registered sandbox up. One that its server does not have any more
// is not made anew: what was in it is gone.
func attachRemote(ctx context.Context, o opening, id string) (*sandbox.Sandbox, error) {
	e, err := registryOf(o.home).Find(id)
	if err != nil {
		return nil, sandboxHint(err)
	}
	kind, known := remotes[e.Backend]
	if !known {
		return nil, fmt.Errorf("sandbox %s is kept by %q, and there is no driver for that", id, e.Backend)
	}
	o.Dir = e.Spec.WorkingDir
	return kind.attach(ctx, o, e.Remote)
}

// createRemote makes a sandbox that stays.
func createRemote(ctx context.Context, scheme string, o opening, keep *keeping) (registry.Entry, error) {
	sb, err := openRemote(ctx, scheme, o, keep)
	if err != nil {
		return registry.Entry{}, err
	}
	p := sb.Placement()
	e := registry.Entry{Name: keep.name, Backend: scheme, Remote: p.ID, Spec: p.Spec, Policy: sb.Policy()}
	if o.Dir == "" || o.Uploaded {
		e.Spec.WorkingDir = ""
	}
	e.Spec.Timeout = keep.lifetime
	if e, err = registryOf(o.home).Add(e); err != nil {
		_ = sb.Close()
		return e, errors.Join(err, remotes[scheme].end(context.WithoutCancel(ctx), p.ID))
	}
	return e, sb.Close()
}

// collectRemotes removes what was left behind of every kind, if it can be told what was
// not.
func collectRemotes(ctx context.Context, home string) (all []leftover, err error) {
	entries, err := registryOf(home).List()
	if err != nil {
		return nil, err
	}
	kept := make(map[string]bool)
	for _, e := range entries {
		if e.Problem != nil && e.Backend != "local" {
			return nil, &hinted{fmt.Errorf("containers and remote sandboxes were left alone: sandbox %s: %w", e.ID, e.Problem), "rath sandboxes rm " + e.ID + " forgets what cannot be read"}
		}
		kept[e.Remote] = true
	}
	for _, scheme := range slices.Sorted(maps.Keys(remotes)) {
		found, failed := remotes[scheme].collect(ctx, home, kept)
		all, err = append(all, found...), errors.Join(err, failed)
	}
	return all, err
}

// removed is what came of a removal.
func removed(kind, name string, err error) leftover {
	l := leftover{Kind: kind, Name: name}
	if err != nil {
		l.Left = err.Error()
	}
	return l
}

// homeMark stands for a home of this machine, among those of others who use a server.
func homeMark(home string) string {
	host, _ := os.Hostname()
	sum := sha256.Sum256([]byte(host + "\x00" + resolved(home)))
	return hex.EncodeToString(sum[:16])
}

const (
	registering = time.Hour       // longer than it takes to register a sandbox that was made
	examineTime = 5 * time.Second // how long a server has to answer the doctor
)

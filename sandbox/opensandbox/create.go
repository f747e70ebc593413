package opensandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox/driver"
)

// volumeName is OpenRath's.
const volumeName = "rath-workspace"

type createRequest struct {
	Image         *Image            `json:"image,omitzero"`
	SnapshotID    string            `json:"snapshotId,omitzero"`
	Timeout       int               `json:"timeout,omitzero"` // seconds
	Resources     map[string]string `json:"resourceLimits"`
	Env           map[string]string `json:"env,omitzero"`
	Metadata      map[string]string `json:"metadata"`
	Entrypoint    []string          `json:"entrypoint,omitempty"`
	NetworkPolicy *networkPolicy    `json:"networkPolicy,omitzero"`
	Volumes       []volume          `json:"volumes,omitempty"`
	Extensions    map[string]string `json:"extensions,omitempty"`
}

type volume struct {
	Name string `json:"name"`
	Host struct {
		Path string `json:"path"`
	} `json:"host"`
	MountPath string `json:"mountPath"`
}

func (b *box) createRequest() createRequest {
	o := &b.opts
	r := createRequest{
		SnapshotID: o.SnapshotID, Resources: o.Resources, Env: o.Env, Metadata: labels(o, b.handle),
		Entrypoint: o.Entrypoint, NetworkPolicy: egress(b.policy), Extensions: o.Extensions,
	}
	if r.Resources == nil {
		r.Resources = map[string]string{"cpu": "1", "memory": "2Gi"}
	}
	if o.Timeout > 0 {
		r.Timeout = int((o.Timeout + time.Second - 1) / time.Second)
	}
	if o.Image != "" {
		r.Image = &Image{o.Image, o.ImageAuth}
		if len(r.Entrypoint) == 0 {
			r.Entrypoint = []string{"tail", "-f", "/dev/null"}
		}
	}
	return r
}

// create makes the sandbox, with the directory bound if the server can.
func (b *box) create(ctx context.Context) error {
	r := b.createRequest()
	var refused error
	if b.opts.Dir != "" {
		if refused = b.bindable(); refused == nil {
			v := volume{Name: volumeName, MountPath: Root}
			v.Host.Path = b.opts.Dir
			r.Volumes = []volume{v}
			err := b.post(ctx, r)
			if !refusesVolume(err) {
				b.bound = err == nil
				return err
			}
			refused = err
		}
		if b.opts.StrictBind {
			return &bindError{b.opts.Dir, refused}
		}
		r.Volumes = nil
	}
	return b.post(ctx, r)
}

// bindable says why the directory must not be bound.
func (b *box) bindable() error {
	for _, name := range b.opts.Exclude {
		if _, err := os.Lstat(filepath.Join(b.opts.Dir, filepath.FromSlash(name))); err == nil {
			return fmt.Errorf("it has %s in it, which the sandbox must not have", name)
		}
	}
	return nil
}

// refusesVolume reports whether a server has refused to bind a directory, or does not know
// of volumes.
func refusesVolume(err error) bool {
	var e *APIError
	return errors.As(err, &e) && (strings.HasPrefix(e.Code, "VOLUME::") || e.Status == http.StatusUnprocessableEntity)
}

// bindError is that a directory could not be bound.
type bindError struct {
	dir string
	err error
}

func (e *bindError) Error() string { return fmt.Sprintf("bind %s: %v", e.dir, e.err) }
func (e *bindError) Unwrap() error { return e.err }

// Hint says what to do about it.
func (e *bindError) Hint() string {
	return "allow the directory in the server's settings ([storage] allowed_host_paths), or let it be uploaded"
}

// post asks for the sandbox. If the answer is lost, the sandbox may be there: it is found
// by its label, and deleted.
func (b *box) post(ctx context.Context, r createRequest) error {
	err := b.client.call(ctx, http.MethodPost, "/sandboxes", nil, r, &b.info)
	b.id = b.info.ID
	var lost *connectionError
	if errors.As(err, &lost) && !repeatable(lost.request, err) {
		b.deleteLost(ctx)
	}
	var refused *APIError
	if r.NetworkPolicy != nil && errors.As(err, &refused) && (refused.kind() == "INVALID_PARAMETER" || errors.Is(err, driver.ErrUnsupported)) {
		return networkRefusal(b.policy.Network, refused.Message)
	}
	if err == nil && b.id == "" {
		err = errors.New("POST /sandboxes: the server gave no id")
	}
	return err
}

func (b *box) deleteLost(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	found, _ := b.client.List(ctx, Filter{Metadata: map[string]string{labelHandle: b.handle}})
	for _, info := range found {
		_ = b.client.Delete(ctx, info.ID)
	}
}

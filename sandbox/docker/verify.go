package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// verify makes sure that what is bound is what was meant: an engine elsewhere has other
// files, and what another sandbox runs could swap a link while this one is opened.
func (b *box) verify(ctx context.Context) error {
	info, err := b.engine.Info(ctx, client.InfoOptions{})
	if err != nil {
		return explain(err)
	}
	b.seccomp = filters(info.Info)
	if _, kind, err := b.resolve(ctx, "."); err != nil || kind != isFolder {
		return errors.Join(err, fmt.Errorf("the image has something else at %s", Root))
	}
	if strings.Contains(info.Info.OperatingSystem, "Docker Desktop") {
		return nil // the engine runs in another machine, which numbers files its own way
	}
	mounts, err := b.mounts()
	if err != nil {
		return err
	}
	for _, m := range mounts {
		if m.Type == mount.TypeBind && m.Source != os.DevNull {
			if err := b.same(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// same compares what is bound with what is here.
func (b *box) same(ctx context.Context, m mount.Mount) error {
	info, err := os.Stat(m.Source)
	if err != nil {
		return err
	}
	want := identity(info)
	if want == "" {
		return nil
	}
	got, err := b.ask(ctx, "identify", m.Target)
	if err != nil {
		return fmt.Errorf("%s in the container: %w", m.Target, err)
	}
	if strings.TrimSpace(string(got)) != want {
		return hinted{
			fmt.Errorf("the engine has bound something else than %s", m.Source),
			"use an engine of this machine, or leave the directory out for a volume",
		}
	}
	return nil
}

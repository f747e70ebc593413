//go:build !linux

package workspace

import (
	"errors"
	"os"
)

var errNotHere = errors.New("not on this system")

func overlayClass() (string, error) { return "", errNotHere }

func mountOverlay(overlayMount) error { return errNotHere }

func unmount(string) error { return errNotHere }

func isOverlay(string) bool { return false }

func cloneFile(_, _ *os.File) error { return errNotHere }

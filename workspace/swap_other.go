//go:build !linux && !darwin

package workspace

import (
	"errors"
	"os"
)

// swap exchanges two files of a directory at once. There is no such thing here.
func swap(*os.Root, string, string) error { return errors.ErrUnsupported }

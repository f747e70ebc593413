package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// swap exchanges two files of a directory at once. [errors.ErrUnsupported] where the file
// system cannot.
func swap(dir *os.Root, a, b string) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	err = unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}

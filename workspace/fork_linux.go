package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Classes of overlay layers: overlayfs keeps notes in extended attributes, of a kind that
// only root may write, or of one that may be written in a user namespace.
const (
	trusted = "trusted"
	user    = "user"
)

// overlayClass tells in which way overlays are mounted here.
func overlayClass() (string, error) {
	uids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return "", err
	}
	if f := strings.Fields(string(uids)); len(f) == 3 && f[0] == "0" && f[2] == "4294967295" {
		return trusted, nil
	}
	return user, nil
}

func mountOverlay(m overlayMount) error {
	options := []string{"index=off", "metacopy=off"}
	if m.class == user {
		options = append(options, "userxattr")
	} else {
		options = append(options, "redirect_dir=on") // directories can be renamed
	}
	lower := make([]string, len(m.lower))
	for i, dir := range m.lower {
		lower[i] = escapeOption(dir)
	}
	options = append(options,
		"lowerdir="+strings.Join(lower, ":"),
		"upperdir="+escapeOption(m.upper),
		"workdir="+escapeOption(m.work))
	data := strings.Join(options, ",")
	if len(data) >= os.Getpagesize() {
		return errors.New("the paths of the layers are too long for a mount")
	}
	if err := unix.Mount("rath", m.at, "overlay", unix.MS_NODEV|unix.MS_NOSUID, data); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	return nil
}

// escapeOption hides what separates options and layers.
func escapeOption(path string) string {
	return strings.NewReplacer(`\`, `\\`, ",", `\,`, ":", `\:`).Replace(path)
}

// unmount ends a mount at once; what is in use of it goes when it is let go of.
func unmount(dir string) error {
	if err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}

// isOverlay reports whether an overlay is mounted at a directory.
func isOverlay(dir string) bool {
	var at, above unix.Stat_t
	var system unix.Statfs_t
	if unix.Lstat(dir, &at) != nil || unix.Lstat(filepath.Dir(dir), &above) != nil || unix.Statfs(dir, &system) != nil {
		return false
	}
	return at.Dev != above.Dev && system.Type == unix.OVERLAYFS_SUPER_MAGIC
}

// cloneFile has a file share the content of another.
func cloneFile(to, from *os.File) error {
	err := unix.IoctlFileClone(int(to.Fd()), int(from.Fd()))
	if errors.Is(err, syscall.ENOTTY) || errors.Is(err, syscall.EOPNOTSUPP) || errors.Is(err, syscall.EINVAL) {
		return fmt.Errorf("the file system cannot share content: %w", err)
	}
	return err
}

package local

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCapabilities takes all capabilities but one from the calling thread, for good: no
// program that it starts gets them back. The one lets the superuser's commands use the
// files of other users, where file rules let them reach those at all. An ordinary user
// has none in any case.
func dropCapabilities() error {
	const kept = 1 << unix.CAP_DAC_OVERRIDE
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var has [2]unix.CapUserData
	if err := unix.Capget(&header, &has[0]); err != nil {
		return fmt.Errorf("read the capabilities: %w", err)
	}
	if err := dropBounding(kept); err != nil {
		return err
	}
	for i := range has {
		mask := uint32(uint64(kept) >> (32 * i))
		has[i] = unix.CapUserData{Effective: has[i].Effective & mask, Permitted: has[i].Permitted & mask}
	}
	if err := unix.Capset(&header, &has[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// dropBounding narrows what programs can ever get. That takes a right itself, without
// which there is nothing to get either: no new privileges are granted in any case.
func dropBounding(kept uint64) error {
	for c := range 64 {
		if kept&(1<<c) != 0 {
			continue
		}
		switch err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err {
		case nil:
		case unix.EINVAL, unix.EPERM: // the kernel has no more, or we may not
			return nil
		default:
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	return nil
}

//go:build !linux

package local

// Sweep finds nothing here: sandboxes leave nothing behind.
func Sweep() (folders []string) { return nil }

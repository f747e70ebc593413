//go:build !linux && !darwin

package workspace

// bootID tells one run of the machine from another, empty if that is not known.
func bootID() string { return "" }

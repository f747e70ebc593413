package driver

import (
	"fmt"
	"time"
)

// Levels of isolation. A driver need not have all of them.
const (
	// LevelHost is no isolation beyond the workspace's paths, the environment and limits.
	LevelHost = "host"
	// LevelLandlock keeps commands to files, networks and system calls by rules of the Linux
	// kernel that take no rights to set up.
	LevelLandlock = "landlock"
	// LevelBubblewrap runs commands in namespaces of their own, which hold nothing else.
	LevelBubblewrap = "bubblewrap"
	// LevelStrongest is the strongest of the others that enforces the policy. An open
	// sandbox says which it is.
	LevelStrongest = "strongest"
)

// Network is what commands may reach.
type Network string

// Networks.
const (
	NetworkDeny     Network = "deny"     // nothing, this machine included
	NetworkLoopback Network = "loopback" // only what runs in the sandbox itself
	NetworkAllow    Network = "allow"
)

// Policy is what a sandbox must enforce. A driver that cannot enforce it refuses to
// open with a [*PolicyError]; nothing is weakened silently. The zero value is the
// driver's default level and no limits.
type Policy struct {
	Level string `json:"level,omitempty"` // empty: the driver's default
	// ReadOnly are paths that commands may read beside the workspace and the system's
	// programs. One inside the workspace cannot be written.
	ReadOnly []string `json:"read_only,omitempty"`
	Writable []string `json:"writable,omitempty"` // paths that commands may write too
	Network  Network  `json:"network,omitempty"`  // empty: the least that the level has
	Limits   Limits   `json:"limits,omitzero"`
	Env      []string `json:"env,omitempty"` // names of further variables that commands inherit
}

// Limits are resource limits. Zero means no limit of the sandbox's own.
type Limits struct {
	CPU       time.Duration // of each process, whole seconds
	Memory    int64         // bytes of address space of each process
	FileSize  int64         // bytes that a file may grow to
	Processes int           // of the sandbox, or where that cannot be counted, of the user
	OpenFiles int           // of each process
}

// Capabilities are what a sandbox can do, and what it keeps commands from.
type Capabilities struct {
	Exec        bool
	Files       bool
	Languages   []string // that RunCode knows here
	Snapshot    bool
	Fork        bool
	FileDeny    bool // commands reach only the files that the policy names
	NetDeny     bool // commands have no network beyond the sandbox
	NetLoopback bool // but one of their own
	PIDHide     bool // commands do not see the host's processes
	SignalDeny  bool // commands cannot signal or trace the host's processes
	SyscallDeny bool // system calls that serve to break out are refused
}

// PolicyError says what of a policy a driver cannot enforce, and what would help. It is
// [ErrUnsupported].
type PolicyError struct {
	Level   string // that cannot enforce it
	Missing string // what cannot be enforced; empty: the level itself
	Reason  string
	Remedy  string
}

func (e *PolicyError) Error() string {
	what := fmt.Sprintf("level %q", e.Level)
	if e.Missing != "" {
		what += " cannot enforce " + e.Missing
	} else {
		what += " cannot be enforced"
	}
	return what + ": " + e.Reason
}

func (e *PolicyError) Unwrap() error { return ErrUnsupported }

// Hint says what would help.
func (e *PolicyError) Hint() string { return e.Remedy }

package driver

import (
	"io"
	"io/fs"
	"time"
)

// DefaultMaxOutput is how much of each output stream a command keeps: 1 MiB.
const DefaultMaxOutput = 1 << 20

// Command is a program to run. Exactly one of Shell and Args is set.
type Command struct {
	Shell     string    // a line for the shell
	Args      []string  // a program and its arguments, run as they are
	Dir       string    // in the workspace; empty: its root
	Env       []string  // KEY=VALUE, on top of the sandbox's own
	Stdin     io.Reader // nil: empty
	Timeout   time.Duration
	MaxOutput int       // bytes kept of each stream; 0: DefaultMaxOutput
	Stdout    io.Writer // gets the whole output live, beside the result; may be nil
	Stderr    io.Writer
}

// Result is what became of a command.
type Result struct {
	ExitCode  int    // -1: ended by a signal
	Stdout    string // the beginning and the end of it, the cut marked
	Stderr    string
	Truncated bool // some output was cut
	TimedOut  bool // Command.Timeout ended it
	Elapsed   time.Duration
}

// Code is a program text to run. The languages are python, bash, node and go, where
// the sandbox has them.
type Code struct {
	Language  string
	Source    string
	Timeout   time.Duration
	MaxOutput int
}

// CodeResult is what became of a program text.
type CodeResult struct {
	Text     string // the value of the last expression, where the language has that notion
	Stdout   string
	Stderr   string
	Error    string // why it failed, empty if it did not
	ExitCode int
	Elapsed  time.Duration
}

// Entry describes a file or a folder.
type Entry struct {
	Name    string
	Path    string // relative to the workspace, with slashes
	IsDir   bool
	Size    int64
	Mode    fs.FileMode
	ModTime time.Time
}

// Placement says where a sandbox is, for the record. The zero value is nowhere.
type Placement struct {
	Backend string `json:"backend"`         // "local", "opensandbox", ...
	Level   string `json:"level,omitempty"` // of isolation: "host", ...
	ID      string `json:"id"`              // of the handle, a UUID
	Spec    Spec   `json:"spec,omitzero"`
	// Forkable says that the workspace's files can be kept and forked.
	Forkable bool `json:"forkable,omitempty"`
	// Fork is the snapshot that the workspace began with, if it is a fork of the one at
	// Spec.WorkingDir.
	Fork SnapshotID `json:"fork,omitempty"`
}

// Spec is what a sandbox was made of, in OpenRath's terms.
type Spec struct {
	Image      string            `json:"image,omitempty"`
	Entrypoint []string          `json:"entrypoint,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Timeout    time.Duration     `json:"timeout_ns,omitempty"`
	WorkingDir string            `json:"working_dir,omitempty"`
}

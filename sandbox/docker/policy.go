package docker

import (
	"fmt"
	"strings"

	"github.com/moby/moby/api/types/system"
	"github.com/openrath-go/rath/sandbox/driver"
)

// Level is what the isolation of a container is called.
const Level = "container"

// ownProcesses is how many Rath may have in a container itself.
const ownProcesses = 8

func refusal(missing, reason, remedy string) error {
	return &driver.PolicyError{Level: Level, Missing: missing, Reason: reason, Remedy: remedy}
}

// settle refuses what no container can enforce, and fills in what is left open.
func settle(p driver.Policy) (driver.Policy, error) {
	switch p.Level {
	case "", Level, driver.LevelStrongest:
		p.Level = Level
	default:
		return p, &driver.PolicyError{Level: p.Level, Reason: "commands run in a container", Remedy: fmt.Sprintf("use level %q", Level)}
	}
	switch p.Network {
	case "":
		p.Network = driver.NetworkDeny
	case driver.NetworkDeny, driver.NetworkLoopback, driver.NetworkAllow:
	default:
		return p, refusal(fmt.Sprintf("the network %q", p.Network), "there is no such policy", "choose one of deny, loopback and allow")
	}
	if n := p.Limits.Processes; n > 0 && n <= ownProcesses {
		return p, refusal(fmt.Sprintf("a limit of %d processes", n), fmt.Sprintf("up to %d are needed to run the container", ownProcesses), "allow more")
	}
	return p, nil
}

// enforceable refuses what this engine cannot enforce.
func (s *spec) enforceable(info system.Info) error {
	l := s.Rules.Limits
	switch {
	case info.OSType != "linux":
		return refusal("", "the engine runs containers of "+info.OSType, "use an engine for Linux containers")
	case l.Memory > 0 && !info.MemoryLimit:
		return refusal("a limit of memory", "the engine's kernel does not count it", "turn on the memory controller of its cgroups, or set no limit")
	case l.Processes > 0 && !info.PidsLimit:
		return refusal("a limit of processes", "the engine's kernel does not count them", "turn on the pids controller of its cgroups, or set no limit")
	}
	return nil
}

// filters reports whether an engine keeps system calls from containers.
func filters(info system.Info) bool {
	for _, option := range info.SecurityOptions {
		if strings.Contains(option, "name=seccomp") && !strings.Contains(option, "unconfined") {
			return true
		}
	}
	return false
}

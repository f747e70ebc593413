package local

import (
	"path/filepath"
	"runtime"
)

// inherited are the variables that commands get from the program's environment; all
// others stay behind, keys and tokens above all.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR",
	"LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
}

// inheritedWindows are what programs there do not start without.
var inheritedWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP",
	"USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
}

func (b *box) environment() []string {
	names := append(inherited[:len(inherited):len(inherited)], b.policy.Env...)
	if runtime.GOOS == "windows" {
		names = append(names, inheritedWindows...)
	}
	var env []string
	for _, name := range names {
		if value, ok := b.getenv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	if b.fork != nil || b.apart {
		env = append(env, "GIT_CEILING_DIRECTORIES="+filepath.Dir(b.dir))
	}
	return env
}

// Package shell writes lines for POSIX shells.
package shell

import (
	"fmt"
	"strings"

	"github.com/openrath-go/rath/sandbox/driver"
)

// Limits sets the limits of a shell and all that it starts. A limit that cannot be set
// ends the shell.
func Limits(l driver.Limits) string {
	var s strings.Builder
	s.WriteString("ulimit -c 0\n")
	set := func(value int64, flags string) {
		if value > 0 {
			fmt.Fprintf(&s, "for limit in %s; do ulimit -$limit %d 2>/dev/null && limit= && break; done; "+
				"[ -z \"$limit\" ] || { echo 'cannot set the limits' >&2; exit 126; }; unset limit\n", flags, value)
		}
	}
	set(int64((l.CPU+999999999)/1e9), "t")
	set((l.Memory+1023)/1024, "v")
	set((l.FileSize+511)/512, "f")
	set(int64(l.Processes), "u p") // bash's word, dash's word
	set(int64(l.OpenFiles), "n")
	return s.String()
}

// Quote makes a text one word.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// Words quotes words and puts them side by side.
func Words(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

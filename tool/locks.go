package tool

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/openrath-go/rath/session"
)

// Lock is a resource that a call holds while it runs. Resources are slash paths, each
// workspace has its own: who holds one holds all below it, and the empty path is
// everything. Readers share.
type Lock struct {
	Resource string
	Write    bool
}

// ReadFile and WriteFile lock a file or a folder with all in it; name is the
// canonical path that the sandbox gives. Where one workspace is inside another they
// lock the same file.
func ReadFile(name string) Lock  { return Lock{Resource: path.Join("files", name)} }
func WriteFile(name string) Lock { return Lock{path.Join("files", name), true} }

// Everything conflicts with every other lock of the workspace.
func Everything() Lock { return Lock{Write: true} }

func (l Lock) conflicts(m Lock) bool {
	return (l.Write || m.Write) && (within(l.Resource, m.Resource) || within(m.Resource, l.Resource))
}

func within(name, dir string) bool {
	rest, ok := strings.CutPrefix(name, dir)
	return ok && (dir == "" || rest == "" || rest[0] == '/')
}

// place is a workspace among all others: those that overlap have paths that do. The
// locks of a place are in three trees: its files, where their names lead, and the rest.
type place string

// unplaced counts the places of sessions without a sandbox; each is apart.
var unplaced atomic.Int64

func placeOf(s session.Session) place {
	if sb := s.Sandbox(); sb != nil {
		return place(filepath.ToSlash(sb.String()))
	}
	return place("unplaced:" + strconv.FormatInt(unplaced.Add(1), 10))
}

func (p place) tree(name string, write bool) Lock { return Lock{path.Join(name, string(p)), write} }

// naming is held while a call's locks are named: as long as nobody holds everything,
// file names lead where they did.
func (p place) naming() Lock { return p.tree("names", false) }

// absolute makes locks of the place comparable with those of all places.
func (p place) absolute(locks ...Lock) []Lock {
	var out []Lock
	for _, l := range locks {
		switch {
		case l.Resource == "":
			out = append(out, p.tree("files", l.Write), p.tree("names", l.Write), p.tree("other", l.Write))
		case within(l.Resource, "files"):
			out = append(out, Lock{path.Join("files", string(p), strings.TrimPrefix(l.Resource, "files")), l.Write})
		default:
			out = append(out, Lock{path.Join("other", string(p), l.Resource), l.Write})
		}
	}
	return out
}

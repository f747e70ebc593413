package flow

import (
	"slices"

	"github.com/openrath-go/rath/session"
)

// compressFrom is the lineage extra with the digest of what a compression was cut from.
const compressFrom = "compress.from"

// Removed returns what a [Compressor]'s summary stands for: the beginning of the session that
// was compressed, with what was kept of it. It is false where s is no such session, or its
// parent is not in memory; a store then has the transcript under the digest in s's lineage.
func Removed(s session.Session) (session.Transcript, bool) {
	extras := s.Lineage().Extras
	i := slices.IndexFunc(extras, func(e session.Extra) bool { return e.Key == compressFrom })
	if i < 0 || len(s.Parents()) == 0 {
		return session.Transcript{}, false
	}
	whole := s.Parents()[0].Transcript()
	for n := whole.Len(); n > 0; n-- {
		if before := whole.First(n); before.Digest().String() == extras[i].Value {
			return before, true
		}
	}
	return session.Transcript{}, false
}

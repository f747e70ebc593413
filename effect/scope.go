package effect

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
)

// scope is a node of the tree of named branches; the root is the context's without one.
type scope struct {
	parent  *scope
	name    string
	journal Journal // inherited, so that Do looks in one place
	born    atomic.Int64
}

type scopeKey struct{}

func scopeOf(ctx context.Context) *scope {
	s, _ := ctx.Value(scopeKey{}).(*scope)
	return s
}

// Path joins the names from the root, "review/draft".
func (s *scope) Path() string {
	var names []string
	for ; s != nil; s = s.parent {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	slices.Reverse(names)
	return strings.Join(names, "/")
}

// escaper keeps a name from looking like two.
var escaper = strings.NewReplacer("%", "%25", "/", "%2F")

// Scope names a branch of the work: effects below it belong to its path. Branches that
// run at the same time need different names, or a journal cannot tell them apart. An
// empty name changes nothing.
func Scope(ctx context.Context, name string) context.Context {
	if name == "" {
		return ctx
	}
	parent := scopeOf(ctx)
	s := &scope{parent: parent, name: escaper.Replace(name)}
	if parent != nil {
		s.journal = parent.journal
	}
	return context.WithValue(ctx, scopeKey{}, s)
}

// Numbered names a branch by the kind of work and how many of ctx's scope came before
// it. Branches made in the same order have the same names, in every run.
func Numbered(ctx context.Context, kind string) context.Context {
	s := scopeOf(ctx)
	if s == nil {
		return Scope(ctx, kind)
	}
	return Scope(ctx, kind+strconv.FormatInt(s.born.Add(1), 10))
}

// Path returns the scope's path from the root, such as "review/draft".
func Path(ctx context.Context) string { return scopeOf(ctx).Path() }

// WithJournal returns a context whose effects go through j, in the same scope.
func WithJournal(ctx context.Context, j Journal) context.Context {
	return context.WithValue(ctx, scopeKey{}, &scope{parent: scopeOf(ctx), journal: j})
}

// Journaled reports whether effects of ctx go through a journal.
func Journaled(ctx context.Context) bool {
	s := scopeOf(ctx)
	return s != nil && s.journal != nil
}

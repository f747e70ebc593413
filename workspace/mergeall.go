package workspace

import (
	"context"
	"fmt"
)

// MergeAll brings together what any number of branches changed since a common snapshot, one
// after another: ours is the base at first, then what has been merged so far, and theirs is
// the next branch. Where there is a conflict, the branch that came first stays, so that a
// third one that changes the same is another conflict; with [MergeOptions.Markers] what is
// merged so far has the markers, and Ours of later conflicts has them, too. Without branches
// it is the base. Options may be nil.
func (s *Store) MergeAll(ctx context.Context, base ID, branches []ID, options *MergeOptions) (*Merged, error) {
	name := fmt.Sprintf("%d branches of %s", len(branches), short(base))
	release, err := s.use(ctx)
	if err != nil {
		return nil, wrap("merge", name, err)
	}
	defer release()
	if options == nil {
		options = &MergeOptions{}
	}
	if err := options.check(); err != nil {
		return nil, wrap("merge", name, err)
	}
	m, err := s.mergeAll(ctx, base, branches, options)
	return m, wrap("merge", name, err)
}

func (s *Store) mergeAll(ctx context.Context, base ID, branches []ID, options *MergeOptions) (*Merged, error) {
	if err := s.known(ctx, base); err != nil {
		return nil, err
	}
	all := &Merged{ID: base}
	for i, branch := range branches {
		m, err := s.merge(ctx, base, all.ID, branch, &MergeOptions{
			Markers: options.Markers,
			Labels:  []string{options.label(0, "merged so far"), options.label(i+1, fmt.Sprintf("branch %d", i))},
		})
		if err != nil {
			return nil, fmt.Errorf("branch %d: %w", i, err)
		}
		for _, c := range m.Conflicts {
			c.Branch = i
			all.Conflicts = append(all.Conflicts, c)
		}
		all.ID = m.ID
	}
	return all, nil
}

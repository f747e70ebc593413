package openviking

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
)

// Level returns a note's text, or what can be made of it; of a folder, the server's
// summaries, or what is in it.
func (s *store) Level(ctx context.Context, uri driver.URI, level driver.Level) (string, error) {
	n, err := s.Get(ctx, uri)
	if errors.Is(err, driver.ErrNotFound) {
		return s.folderLevel(ctx, uri, level)
	}
	if err != nil {
		return "", err
	}
	switch level {
	case driver.Abstract:
		return memory.AbstractOf(n.Text), nil
	case driver.Overview:
		return memory.OverviewOf(n.Text), nil
	}
	return n.Text, nil
}

// folderLevel is a folder at a level. A summary that is not written yet is what is in the
// folder.
func (s *store) folderLevel(ctx context.Context, uri driver.URI, level driver.Level) (string, error) {
	if uri != driver.Root && (level == driver.Abstract || level == driver.Overview) {
		text, err := s.summary(ctx, uri, level)
		if !errors.Is(err, driver.ErrNotFound) && (err != nil || text != "") {
			return text, err
		}
	}
	entries, err := s.List(ctx, uri)
	var b strings.Builder
	for _, e := range entries {
		if e.IsNote {
			fmt.Fprintf(&b, "- %s: %s\n", e.URI, e.Abstract)
		}
		if e.Notes != 0 {
			fmt.Fprintf(&b, "- %s/\n", e.URI)
		}
	}
	return b.String(), err
}

func (s *store) summary(ctx context.Context, uri driver.URI, level driver.Level) (string, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return "", err
	}
	remote, err := s.statFolder(ctx, uri)
	if err != nil {
		return "", err
	}
	if level == driver.Abstract {
		return s.client.Abstract(ctx, remote)
	}
	return s.client.Overview(ctx, remote)
}

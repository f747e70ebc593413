package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/openrath-go/rath/memory"
	"github.com/spf13/cobra"
)

func (m *memoryCommands) statsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show how much a memory keeps, and what it can do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			chosen, err := m.chooseMemory(m.url)
			if err != nil {
				return err
			}
			return m.with(cmd.Context(), chosen, reading, memory.Options{}, func(s *memory.Store) error { return m.stats(cmd.Context(), s, chosen) })
		},
	}
}

// statistics are what stats shows.
type statistics struct {
	Memory string `json:"memory"`
	At     string `json:"at"`
	Can    string `json:"can"`
	*memory.Stats
}

func (m *memoryCommands) stats(ctx context.Context, s *memory.Store, chosen memoryChoice) error {
	found := statistics{Memory: chosen.name, At: chosen.at, Can: s.Capabilities().String()}
	stats, err := s.Stats(ctx)
	switch {
	case err == nil:
		found.Stats = &stats
	case !errors.Is(err, memory.ErrUnsupported): // a server need not be able to count
		return err
	}
	if m.asJSON {
		return m.writeJSON(found)
	}
	for _, line := range found.lines() {
		fmt.Fprintf(m.out, "%-9s %s\n", line[0], prose(line[1]))
	}
	return nil
}

func (s statistics) lines() [][2]string {
	lines := [][2]string{{"memory", s.Memory}, {"at", s.At}, {"can", s.Can}}
	if s.Stats == nil {
		return lines
	}
	for _, scope := range slices.Sorted(maps.Keys(s.Notes)) {
		lines = append(lines, [2]string{scope, plural(s.Notes[scope], "note")})
	}
	if s.Ended > 0 {
		lines = append(lines, [2]string{"ended", plural(s.Ended, "note") + ", which others took the place of"})
	}
	if s.Model != "" {
		lines = append(lines, [2]string{"vectors", fmt.Sprintf("%d of %s, %d numbers each", s.Vectors, s.Model, s.Dimension)})
	}
	lines = append(lines, [2]string{"archives", plural(s.Archives, "session")})
	if s.Pending > 0 {
		lines = append(lines, [2]string{"pending", pendingText(s.Pending, s.Failed)})
	}
	return append(lines, [2]string{"size", amount(s.Bytes)})
}

// pendingText says what is left to extract.
func pendingText(pending, failed int) string {
	text := plural(pending, "commit") + " still to be read for facts"
	if failed > 0 {
		text += fmt.Sprintf(", of which %d failed for good", failed)
	}
	return text + ": rath memory commit"
}

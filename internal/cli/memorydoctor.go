package cli

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/memory"
)

// examineMemories says which memory is used by default, and how it is.
func (a *app) examineMemories(ctx context.Context) []finding {
	m, err := a.chooseMemory("")
	if err != nil {
		return []finding{{"memory", "problem", withHint(err)}}
	}
	where := fmt.Sprintf("%s: %s (%s)", m.name, m.at, m.why)
	if !m.exists() {
		return []finding{{"memory", "note", where + ": there are no notes yet: rath memory remember TEXT"}}
	}
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	s, err := m.open(ctx, memory.Options{})
	if err != nil {
		return []finding{{"memory", "problem", where + ": " + withHint(err)}}
	}
	defer s.Close()
	found := []finding{{"memory", "ok", where}, {"memory", "ok", "it can: " + s.Capabilities().String()}}
	if !s.Capabilities().Semantic && m.scheme == "local" {
		found = append(found, finding{"memory", "note", "notes are found by their words only: memory.providers.NAME.embedding_provider names who makes vectors"})
	}
	if m.scheme != "local" {
		return found
	}
	stats, err := s.Stats(ctx)
	if err != nil {
		return append(found, finding{"memory", "problem", withHint(memoryHint(err))})
	}
	return append(found, describeMemory(stats)...)
}

func describeMemory(s memory.Stats) (found []finding) {
	text := fmt.Sprintf("%s, %s, %s", amount(s.Bytes), plural(notesOf(s), "note"), plural(s.Archives, "archived session"))
	if s.Model != "" {
		text += fmt.Sprintf(", %d vectors of %s", s.Vectors, s.Model)
	}
	found = append(found, finding{"memory", "ok", text})
	if s.Pending > 0 {
		found = append(found, finding{"memory", "note", pendingText(s.Pending, s.Failed)})
	}
	return found
}

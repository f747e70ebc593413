package openviking

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// Commit sends what the server does not have of a transcript, and commits it. The server
// counts a session's messages: what an earlier commit sent, whether or not it came to its
// end, is not sent again. Other processes must not commit the same session meanwhile.
func (s *store) Commit(ctx context.Context, a driver.Archive, wait bool) (driver.Committed, error) {
	defer s.leave()
	if err := s.enter(); err != nil {
		return driver.Committed{}, err
	}
	out := driver.Committed{Archive: a}
	c, err := s.send(ctx, a)
	if err != nil {
		return out, err
	}
	return s.committed(ctx, out, c, wait)
}

// send brings messages to the server and commits them. One at a time: what is missing is
// found out by counting.
func (s *store) send(ctx context.Context, a driver.Archive) (Commit, error) {
	s.sending.Lock()
	defer s.sending.Unlock()
	id := a.Session.String()
	messages := messagesOf(a)
	known, live, err := s.sent(ctx, id)
	switch {
	case err != nil:
		return Commit{}, err
	case known > len(messages):
		return Commit{}, fmt.Errorf("%w: session %s has %d messages on the server, and %d here", driver.ErrConflict, id, known, len(messages))
	case known == len(messages) && live == 0:
		return Commit{}, nil
	}
	if err := s.client.AddMessages(ctx, id, messages[known:]); err != nil {
		return Commit{}, err
	}
	if err := s.used(ctx, id, a.Used); err != nil {
		return Commit{}, err
	}
	return s.client.CommitSession(ctx, id)
}

// sent is how many messages of a session the server has, and how many of them are not
// committed.
func (s *store) sent(ctx context.Context, id string) (known, live int, err error) {
	info, err := s.client.Session(ctx, id)
	switch {
	case errors.Is(err, driver.ErrNotFound):
		return 0, 0, nil
	case err != nil:
		return 0, 0, err
	case info.Total != nil:
		return *info.Total, info.Messages, nil
	case info.Commits > 0:
		return 0, 0, fmt.Errorf("%w: the server does not tell how many messages of session %s it has archived", driver.ErrUnsupported, id)
	}
	return info.Messages, info.Messages, nil
}

// used tells of the notes that a session was told. A note may be gone since.
func (s *store) used(ctx context.Context, id string, uris []driver.URI) error {
	var remote []string
	for _, u := range uris {
		f, err := s.stat(ctx, u)
		if errors.Is(err, driver.ErrNotFound) || errors.Is(err, driver.ErrInvalid) {
			continue
		}
		if err != nil {
			return err
		}
		remote = append(remote, f.URI)
	}
	if len(remote) == 0 {
		return nil
	}
	return s.client.Used(ctx, id, remote)
}

// committed says what became of a commit, when its facts are extracted if wait is set.
func (s *store) committed(ctx context.Context, out driver.Committed, c Commit, wait bool) (driver.Committed, error) {
	switch {
	case !c.Archived:
		out.Archive.State = driver.Known
		return out, nil
	case c.Task == "":
		out.Archive.State = driver.Archived
		return out, nil
	case !wait:
		out.Archive.State = driver.Queued
		return out, nil
	}
	task, err := s.client.Wait(ctx, c.Task)
	if err != nil {
		out.Archive.State = driver.Queued
		if task.Status == "failed" || task.Status == "cancelled" {
			out.Archive.State = driver.Failed
		}
		return out, err
	}
	out.Archive.State = driver.Done
	out.Notes, err = s.extracted(ctx, task.Result.MemoryDiff)
	return out, err
}

// changes is the record of what an extraction wrote.
type changes struct {
	Operations struct {
		Adds    []change `json:"adds"`
		Updates []change `json:"updates"`
	} `json:"operations"`
}

type change struct {
	URI string `json:"uri"`
}

// extracted reads the notes that a commit has written.
func (s *store) extracted(ctx context.Context, record string) ([]driver.Note, error) {
	if record == "" {
		return nil, nil
	}
	text, err := s.client.Read(ctx, record)
	if err != nil {
		return nil, fmt.Errorf("read what was extracted: %w", err)
	}
	var c changes
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return nil, fmt.Errorf("read what was extracted: %w", err)
	}
	var notes []driver.Note
	for _, written := range append(c.Operations.Adds, c.Operations.Updates...) {
		u, ok := s.names.note(written.URI)
		if !ok {
			continue
		}
		text, err := s.client.Read(ctx, written.URI)
		if errors.Is(err, driver.ErrNotFound) {
			continue // a later extraction has merged it into another
		}
		if err != nil {
			return notes, err
		}
		notes = append(notes, driver.Note{URI: u, Text: text})
	}
	return notes, nil
}

// messagesOf says a transcript in the server's words: what was said by users and models,
// and the calls of tools with their results. What stems from memory is left out, as are
// instructions. The messages of a transcript's beginning are the beginning of its
// messages.
func messagesOf(a driver.Archive) []Message {
	var list []Message
	calls := make(map[string]session.Call)
	for _, c := range a.Transcript.All() {
		m := Message{Role: "user", Content: memory.Unmarked(c), Created: stamp(a.Time)}
		switch c.Kind() {
		case session.KindSystem:
			continue
		case session.KindAssistant:
			m.Role = "assistant"
			for call := range c.Calls() {
				calls[call.ID] = call
			}
		case session.KindToolResult:
			m.Role = "assistant"
			m.Content, m.Parts = "", []MessagePart{toolPart(c.Answer(), calls[c.Answer().CallID], m.Content)}
		}
		if strings.TrimSpace(m.Content) != "" || len(m.Parts) > 0 {
			list = append(list, m)
		}
	}
	return list
}

// toolPart is a call with its result.
func toolPart(a session.Answer, call session.Call, output string) MessagePart {
	p := MessagePart{Type: "tool", ID: a.CallID, Tool: a.Tool, Output: output, Status: "completed"}
	if a.Outcome != session.OK {
		p.Status = "error"
	}
	if call.Arguments != "" && json.Unmarshal([]byte(call.Arguments), &p.Input) != nil {
		p.Input = map[string]any{"arguments": call.Arguments} // a model's mistake
	}
	return p
}

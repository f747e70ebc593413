package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"
)

// session is a conversation: the messages that are not archived, and how many are.
type session struct {
	messages []message
	archived int
	commits  int
	used     []string
}

type message struct {
	Role      string            `json:"role"`
	Peer      *string           `json:"peer_id"`
	Content   *string           `json:"content"`
	Parts     []json.RawMessage `json:"parts"`
	Created   string            `json:"created_at"`
	Telemetry any               `json:"telemetry"`
}

func (m message) text() string {
	if m.Content != nil {
		return *m.Content
	}
	return ""
}

// part is what a part of a message may have.
type part struct {
	Type   string         `json:"type"`
	Text   string         `json:"text"`
	ID     string         `json:"tool_id"`
	Tool   string         `json:"tool_name"`
	Input  map[string]any `json:"tool_input"`
	Output string         `json:"tool_output"`
	Status string         `json:"tool_status"`
}

// valid checks a message as the server does, and the parts more strictly.
func (m message) valid(i int) *failure {
	loc := []string{"body", "messages", fmt.Sprint(i)}
	if m.Role != "user" && m.Role != "assistant" {
		return violation("role must be user or assistant", "value_error", append(loc, "role")...)
	}
	if m.Content == nil && m.Parts == nil {
		return violation("Either content or parts must be provided", "value_error", loc...)
	}
	for _, raw := range m.Parts {
		dec := json.NewDecoder(strings.NewReader(string(raw)))
		dec.DisallowUnknownFields()
		var p part
		if err := dec.Decode(&p); err != nil || p.Type != "text" && p.Type != "tool" {
			return violation("invalid part", "value_error", append(loc, "parts")...)
		}
		if p.Type == "tool" && !slices.Contains([]string{"pending", "running", "completed", "error"}, p.Status) {
			return violation("invalid tool_status", "value_error", append(loc, "parts")...)
		}
	}
	return nil
}

func (s *Server) getSession(r *http.Request) (any, *failure) {
	id := r.PathValue("id")
	known := s.sessions[id]
	if known == nil {
		return nil, &failure{"NOT_FOUND", "Session " + id + " not found", nil}
	}
	return map[string]any{
		"session_id": id, "uri": s.sessionURI(id), "message_count": len(known.messages),
		"total_message_count": known.archived + len(known.messages), "commit_count": known.commits,
		"user": map[string]any{"account_id": "default", "user_id": s.opts.User}, "auto_commit_policy": nil,
	}, nil
}

func (s *Server) sessionURI(id string) string { return s.home() + "/sessions/" + id }

func (s *Server) addMessages(r *http.Request) (any, *failure) {
	var in struct {
		Messages  []message `json:"messages"`
		Telemetry any       `json:"telemetry"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	if len(in.Messages) > 100 {
		return nil, violation("List should have at most 100 items", "too_long", "body", "messages")
	}
	for i, m := range in.Messages {
		if f := m.valid(i); f != nil {
			return nil, f
		}
	}
	id := r.PathValue("id")
	if s.sessions[id] == nil {
		s.sessions[id] = &session{}
		s.makeDir(s.sessionURI(id))
	}
	known := s.sessions[id]
	known.messages = append(known.messages, in.Messages...)
	return map[string]any{"session_id": id, "message_count": len(known.messages), "added": len(in.Messages)}, nil
}

func (s *Server) used(r *http.Request) (any, *failure) {
	var in struct {
		Contexts []string `json:"contexts"`
		Skill    any      `json:"skill"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	id := r.PathValue("id")
	if s.sessions[id] == nil {
		return nil, notFound(id, "session")
	}
	s.sessions[id].used = append(s.sessions[id].used, in.Contexts...)
	return map[string]any{"session_id": id, "contexts_used": len(in.Contexts), "skills_used": 0}, nil
}

// Used returns what a session was told to have been of use.
func (s *Server) Used(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[id] == nil {
		return nil
	}
	return slices.Clone(s.sessions[id].used)
}

func (s *Server) commit(r *http.Request) (any, *failure) {
	var in struct {
		Keep      int `json:"keep_recent_count"`
		Telemetry any `json:"telemetry"`
	}
	if f := decode(r, &in); f != nil {
		return nil, f
	}
	id := r.PathValue("id")
	known := s.sessions[id]
	if known == nil {
		return nil, notFound(id, "session")
	}
	if len(known.messages) == 0 {
		return map[string]any{"session_id": id, "status": "skipped", "task_id": nil, "archive_uri": nil, "archived": false, "reason": "no_messages"}, nil
	}
	batch := known.messages
	known.messages, known.archived, known.commits = nil, known.archived+len(batch), known.commits+1
	archive := fmt.Sprintf("%s/history/archive_%03d", s.sessionURI(id), known.commits)
	lines, _ := json.Marshal(batch)
	s.put(archive+"/messages.jsonl", string(lines), true)
	t := s.newTask("session_commit", id, func() map[string]any { return s.extract(id, archive, batch) })
	return map[string]any{"session_id": id, "status": "accepted", "task_id": t, "archive_uri": archive, "archived": true}, nil
}

// extract makes memories of what users want to be remembered.
func (s *Server) extract(id, archive string, batch []message) map[string]any {
	adds := []any{}
	for i, m := range batch {
		if m.Role != "user" || !strings.HasPrefix(m.text(), "Remember") {
			continue
		}
		uri := fmt.Sprintf("%s/memories/events/%s_%d.md", s.home(), path.Base(archive), i+1)
		s.put(uri, m.text(), true)
		adds = append(adds, map[string]any{"uri": uri, "memory_type": "events", "after": m.text()})
	}
	diff, _ := json.Marshal(map[string]any{
		"archive_uri": archive, "extracted_at": s.opts.Now().UTC().Format(time.RFC3339),
		"operations": map[string]any{"adds": adds, "updates": []any{}, "deletes": []any{}},
		"summary":    map[string]any{"total_adds": len(adds), "total_updates": 0, "total_deletes": 0},
	})
	s.put(archive+"/memory_diff.json", string(diff), true)
	return map[string]any{
		"session_id": id, "archive_uri": archive, "memory_diff_uri": archive + "/memory_diff.json",
		"memories_extracted": map[string]any{"events": len(adds)},
	}
}

// task is work that is done when it has been asked after often enough.
type task struct {
	kind, resource string
	polls          int
	status         string
	run            func() map[string]any
	result         map[string]any
}

func (s *Server) newTask(kind, resource string, run func() map[string]any) string {
	id := s.id("task")
	s.tasks[id] = &task{kind: kind, resource: resource, polls: s.opts.Polls, status: "pending", run: run}
	return id
}

func (s *Server) getTask(r *http.Request) (any, *failure) {
	id := r.PathValue("id")
	t := s.tasks[id]
	if t == nil {
		return nil, &failure{"NOT_FOUND", "Task not found or expired", map[string]any{"resource": id, "type": "task"}}
	}
	out := map[string]any{"task_id": id, "task_type": t.kind, "resource_id": t.resource, "stage": nil, "error": nil}
	switch {
	case t.status == "completed" || t.status == "failed":
	case t.polls > 0:
		t.polls--
		t.status = "running"
	case s.opts.Failing:
		t.status = "failed"
	default:
		t.status, t.result = "completed", t.run()
	}
	if t.status == "failed" {
		out["error"] = "the model does not answer"
	}
	out["status"], out["result"] = t.status, t.result
	return out, nil
}

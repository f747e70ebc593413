package openviking

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/openrath-go/rath/memory/driver"
)

// SessionInfo is what a server knows of a session.
type SessionInfo struct {
	ID       string `json:"session_id"`
	Messages int    `json:"message_count"`       // that are not archived
	Total    *int   `json:"total_message_count"` // archived ones too; nil: the server does not tell
	Commits  int    `json:"commit_count"`
}

// Session returns what the server knows of a session, or [driver.ErrNotFound].
func (c *Client) Session(ctx context.Context, id string) (s SessionInfo, err error) {
	return s, c.call(ctx, get(sessionPath(id), nil), &s)
}

// Message is what somebody said.
type Message struct {
	Role    string        `json:"role"` // "user" or "assistant"
	Content string        `json:"content,omitempty"`
	Parts   []MessagePart `json:"parts,omitempty"` // instead of Content
	Created string        `json:"created_at,omitempty"`
}

// MessagePart is a text, or a call of a tool with its result.
type MessagePart struct {
	Type   string         `json:"type"` // "text" or "tool"
	Text   string         `json:"text,omitempty"`
	ID     string         `json:"tool_id,omitempty"`
	Tool   string         `json:"tool_name,omitempty"`
	Input  map[string]any `json:"tool_input,omitempty"`
	Output string         `json:"tool_output,omitempty"`
	Status string         `json:"tool_status,omitempty"` // "completed" or "error"
}

// maxBatch is how many messages a request may have, and maxBatchBytes how long their
// texts should be together.
const (
	maxBatch      = 100
	maxBatchBytes = 4 << 20
)

// AddMessages appends messages to a session, which is made if it is not there. Of many, the
// first ones may be added when it fails.
func (c *Client) AddMessages(ctx context.Context, id string, messages []Message) error {
	for len(messages) > 0 {
		n := batch(messages)
		if err := c.post(ctx, sessionPath(id)+"/messages/batch", map[string]any{"messages": messages[:n]}, nil); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

// batch is how many messages go into the next request.
func batch(messages []Message) int {
	size := 0
	for i, m := range messages[:min(len(messages), maxBatch)] {
		size += len(m.Content)
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.Output)
		}
		if size > maxBatchBytes && i > 0 {
			return i
		}
	}
	return min(len(messages), maxBatch)
}

// Used tells the server which of its texts were of use in a session.
func (c *Client) Used(ctx context.Context, id string, uris []string) error {
	return c.post(ctx, sessionPath(id)+"/used", map[string]any{"contexts": uris}, nil)
}

// Commit is what became of a session's messages.
type Commit struct {
	Status   string `json:"status"`  // "accepted" or "skipped"
	Task     string `json:"task_id"` // that extracts the facts; may be empty
	Archive  string `json:"archive_uri"`
	Archived bool   `json:"archived"`
	Reason   string `json:"reason"`
}

// CommitSession archives a session's messages and has their facts extracted in the
// background.
func (c *Client) CommitSession(ctx context.Context, id string) (out Commit, err error) {
	return out, c.post(ctx, sessionPath(id)+"/commit", struct{}{}, &out)
}

func sessionPath(id string) string { return "/api/v1/sessions/" + url.PathEscape(id) }

// Task is work in the background.
type Task struct {
	ID     string `json:"task_id"`
	Type   string `json:"task_type"`
	Status string `json:"status"` // "pending", "running", "cancelling", "completed", "failed", "cancelled"
	Stage  string `json:"stage"`
	Error  any    `json:"error"`
	Result struct {
		Root       string         `json:"root_uri"`
		Archive    string         `json:"archive_uri"`
		MemoryDiff string         `json:"memory_diff_uri"`
		Extracted  map[string]int `json:"memories_extracted"`
	} `json:"result"`
}

// Task returns a task.
func (c *Client) Task(ctx context.Context, id string) (t Task, err error) {
	return t, c.call(ctx, get("/api/v1/tasks/"+url.PathEscape(id), nil), &t)
}

// Wait waits until a task is completed. One that failed or was cancelled is an error.
func (c *Client) Wait(ctx context.Context, id string) (Task, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.opts.LongTimeout, fmt.Errorf("it is not done in %v: %w", c.opts.LongTimeout, context.DeadlineExceeded))
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		t, err := c.Task(ctx, id)
		switch {
		case err != nil:
			return t, err
		case t.Status == "completed":
			return t, nil
		case slices.Contains([]string{"failed", "cancelled"}, t.Status):
			return t, fmt.Errorf("task %s of the server is %s: %s", id, t.Status, c.redact(fmt.Sprint(t.Error)))
		}
		if err := sleep(ctx, wait); err != nil {
			return t, fmt.Errorf("wait for task %s: %w: %w", id, driver.ErrTransport, err)
		}
	}
}

// WaitAll waits until the server has nothing to do in the background.
func (c *Client) WaitAll(ctx context.Context) error {
	r, err := post("/api/v1/system/wait", map[string]float64{"timeout": c.patience()})
	if err != nil {
		return err
	}
	r.long, r.safe = true, true
	return c.call(ctx, r, nil)
}

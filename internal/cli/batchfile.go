package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// batchItem is a line of a batch. It is kept as a message of the batch's own session, so
// that a batch which goes on needs no file.
type batchItem struct {
	ID      string          `json:"id"`
	Line    int             `json:"line"`
	Prompt  string          `json:"prompt,omitempty"`
	Session string          `json:"session,omitempty"` // once it is kept, the whole id
	Len     int             `json:"len,omitempty"`     // how many chunks of that
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// readBatch reads and checks a file, or stdin, without what an earlier batch has done.
func (a *app) readBatch(ctx context.Context, file, skip string) ([]batchItem, error) {
	done, err := a.doneIn(skip)
	if err != nil {
		return nil, err
	}
	f, name := a.in, "stdin"
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, &hinted{fmt.Errorf("read the batch: %w", err), "a line of it is a message in quotes, or an object: rath batch --help"}
		}
		defer opened.Close()
		f, name = opened, file
	}
	type batch struct {
		items []batchItem
		err   error
	}
	read := make(chan batch, 1)
	go func() {
		items, err := parseBatch(f, name, done)
		read <- batch{items, err}
	}()
	select {
	case b := <-read:
		return b.items, b.err
	case <-ctx.Done(): // a read cannot be asked to give up
		return nil, fmt.Errorf("interrupted: read the batch from %s: %w", name, ctx.Err())
	}
}

// lineError is a mistake in a line of a file.
type lineError struct {
	file string
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("%s:%d: %v", e.file, e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// Hint shows the form.
func (e *lineError) Hint() string {
	return `a line is "MESSAGE" or {"id": "NAME", "prompt": "MESSAGE", "session": "ID", "meta": {...}}`
}

// parseBatch reads lines; empty ones count, and are nothing. A mistake is a *lineError.
func parseBatch(r io.Reader, file string, done map[string]bool) (items []batchItem, err error) {
	seen, n := map[string]int{}, 0
	for line, err := range linesOf(r) {
		n++
		if err == nil && len(line) == 0 {
			continue
		}
		var item batchItem
		if err == nil {
			item, err = parseItem(line, n)
		}
		if first := seen[item.ID]; err == nil && first > 0 {
			err = fmt.Errorf("the id %q is that of line %d already", item.ID, first)
		}
		if err != nil {
			return nil, usage(&lineError{file, n, err})
		}
		seen[item.ID] = n
		if !done[item.ID] {
			items = append(items, item)
		}
	}
	if len(seen) == 0 {
		return nil, usage(fmt.Errorf("there is nothing in %s", file))
	}
	return items, nil
}

// linesOf yields lines without the white space around them. They are the caller's until the
// next one.
func linesOf(r io.Reader) func(yield func([]byte, error) bool) {
	return func(yield func([]byte, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxMessage+1<<16)
		for first := true; lines.Scan(); first = false {
			line := lines.Bytes()
			if first {
				line = bytes.TrimPrefix(line, []byte("\ufeff"))
			}
			if !yield(bytes.TrimSpace(line), nil) {
				return
			}
		}
		err := lines.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d MiB", maxMessage>>20)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// parseItem reads a line.
func parseItem(line []byte, n int) (item batchItem, err error) {
	var in struct {
		ID      jsontext.Value `json:"id"`
		Prompt  *string        `json:"prompt"`
		Session string         `json:"session"`
		Meta    jsontext.Value `json:"meta"`
	}
	if line[0] == '"' {
		err = jsonv2.Unmarshal(line, &in.Prompt)
	} else {
		err = jsonv2.Unmarshal(line, &in, jsonv2.RejectUnknownMembers(true))
	}
	if err != nil {
		return item, plainJSON(err)
	}
	item = batchItem{ID: strconv.Itoa(n), Line: n, Session: in.Session, Meta: json.RawMessage(in.Meta)}
	if len(in.ID) > 0 {
		if item.ID, err = idText(in.ID); err != nil {
			return item, err
		}
	}
	if in.Prompt != nil {
		item.Prompt = *in.Prompt
	}
	if strings.TrimSpace(item.Prompt) == "" && (in.Prompt != nil || item.Session == "") {
		return item, errors.New("the prompt is empty")
	}
	return item, nil
}

// idText is the id that a line gives itself: a text, or a number.
func idText(v jsontext.Value) (id string, err error) {
	switch v.Kind() {
	case '0':
		return v.String(), nil
	case '"':
		if err := json.Unmarshal(v, &id); err == nil && id != "" {
			return id, nil
		}
	}
	return "", errors.New("the id is no text and no number")
}

// plainJSON says what is wrong with JSON in a line of its own.
func plainJSON(err error) error {
	var semantic *jsonv2.SemanticError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, jsonv2.ErrUnknownName):
		return fmt.Errorf("there is no member %q", strings.TrimPrefix(string(semantic.JSONPointer), "/"))
	case errors.As(err, &semantic):
		return fmt.Errorf("%s cannot be a %s", cmp.Or(strings.TrimPrefix(string(semantic.JSONPointer), "/"), "the line"), kindText(semantic.JSONKind))
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON: %w", syntax.Err)
	}
	return err
}

func kindText(k jsontext.Kind) string {
	switch k {
	case '0':
		return "number"
	case '[':
		return "list"
	case '{':
		return "object"
	case '"':
		return "text"
	}
	return k.String()
}

// batchInput is the session that a batch begins with: a message for each line. The sessions
// that lines name are looked up once and for all.
func (r *records) batchInput(ctx context.Context, file string, items []batchItem) (session.Session, error) {
	chunks := make([]session.Chunk, len(items))
	for i, item := range items {
		if item.Session != "" {
			if err := r.resolve(ctx, &item); err != nil {
				return session.Session{}, &lineError{file, item.Line, err}
			}
		}
		text, err := json.Marshal(item)
		if err != nil {
			return session.Session{}, &lineError{file, item.Line, err}
		}
		chunks[i] = session.User(session.Text(string(text)))
	}
	return session.New(chunks...), nil
}

// resolve names the session of an item by its whole id.
func (r *records) resolve(ctx context.Context, item *batchItem) error {
	named, err := r.session(ctx, item.Session)
	if err != nil {
		return err
	}
	s, err := named.prefix()
	if err != nil {
		return err
	}
	if item.Prompt == "" && s.Transcript().Last().Kind() == session.KindAssistant {
		return &hinted{fmt.Errorf("session %s ends with an answer", named.ID()), "give the line a prompt"}
	}
	item.Session, item.Len = named.ID().String(), named.n
	return nil
}

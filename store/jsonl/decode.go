package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
)

// Read reads a file; name is for errors, which are *FormatError. A last line without its
// newline is what a crash cut off, and is dropped.
func Read(r io.Reader, name string) (*File, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var f *File
	for n := 1; ; n++ {
		data, err := in.ReadBytes('\n')
		if err == io.EOF {
			break // with or without a cut line
		}
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", name, err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			continue
		}
		if f, err = f.add(data); err != nil {
			return nil, &FormatError{name, n, err}
		}
	}
	if f == nil {
		return nil, &FormatError{name, 1, ErrEmpty}
	}
	return f, nil
}

// add takes the next line; the file begins with its header.
func (f *File) add(data []byte) (*File, error) {
	var r struct {
		RecordType string         `json:"record_type"`
		Rest       jsontext.Value `json:",embed"`
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	switch {
	case r.RecordType == "header" && f != nil:
		return nil, errors.New("a second header")
	case r.RecordType == "header":
		f = &File{}
		return f, json.Unmarshal(data, &f.Header)
	case f == nil:
		return nil, fmt.Errorf("a %q comes before the header", r.RecordType)
	case f.Trailer != nil:
		return nil, fmt.Errorf("a %q comes after the trailer", r.RecordType)
	case r.RecordType == "chunk":
		return f, f.addChunk(data)
	case r.RecordType == "trailer":
		f.Trailer = &Trailer{}
		return f, json.Unmarshal(data, f.Trailer)
	}
	return nil, fmt.Errorf("unknown record_type %q", r.RecordType)
}

func (f *File) addChunk(data []byte) error {
	var c Chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	if _, err := c.Chunk(); err != nil {
		return err
	}
	f.Chunks = append(f.Chunks, c)
	return nil
}

// Chunk returns the chunk of a line.
func (r Chunk) Chunk() (session.Chunk, error) {
	if r.Rath != nil {
		return *r.Rath, nil
	}
	var kind session.Kind
	if err := kind.UnmarshalText([]byte(r.Kind)); err != nil {
		return session.Chunk{}, err
	}
	switch kind {
	case session.KindAssistant:
		var p assistantPayload
		err := json.Unmarshal(r.Payload, &p)
		return p.chunk(), err
	case session.KindToolResult:
		var p resultPayload
		err := json.Unmarshal(r.Payload, &p)
		answer := session.Answer{CallID: p.ToolCallID, Tool: p.Name, Outcome: outcomeOf(p.Content)}
		return session.ToolResult(answer, session.Text(p.Content)), err
	}
	var p textPayload
	err := json.Unmarshal(r.Payload, &p)
	if kind == session.KindSystem {
		return session.System(session.Text(p.Content)), err
	}
	return session.User(session.Text(p.Content)), err
}

func (p assistantPayload) chunk() session.Chunk {
	var parts []session.Part
	if p.Content != nil && *p.Content != "" {
		parts = append(parts, session.Text(*p.Content))
	}
	var calls []session.Call
	for _, c := range p.ToolCalls {
		calls = append(calls, session.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return session.Assistant(parts, calls...)
}

// outcomeOf knows a failed call by the JSON that stands for its result.
func outcomeOf(content string) session.Outcome {
	if !strings.HasPrefix(content, "{") || !strings.Contains(content, `"ok"`) {
		return session.OK
	}
	var r struct {
		OK   *bool          `json:"ok"`
		Kind string         `json:"error_kind"`
		Rest jsontext.Value `json:",embed"`
	}
	if json.Unmarshal([]byte(content), &r) != nil || r.OK == nil || *r.OK {
		return session.OK
	}
	switch r.Kind {
	case "tool_denied":
		return session.Denied
	case "interrupted":
		return session.Interrupted
	}
	return session.Failed
}

// Session restores the session. Parents that are given are linked to it by their ids.
func (f *File) Session(parents ...session.Session) (session.Session, error) {
	r := f.Header.record()
	if r.ID.IsZero() {
		return session.Session{}, fmt.Errorf("session id %q is no UUID", f.Header.ID)
	}
	for i, c := range f.Chunks {
		chunk, err := c.Chunk()
		if err != nil {
			return session.Session{}, fmt.Errorf("chunk %d: %w", i, err)
		}
		r.Content = r.Content.Append(chunk)
	}
	if f.Trailer != nil && f.Trailer.Rath != nil {
		t := f.Trailer.Rath
		r.Usage = t.Usage
		r.Lineage.Extras = append(r.Lineage.Extras, t.Extras...)
		if t.Digest != r.Content.Digest() {
			return session.Session{}, fmt.Errorf("the digest of the chunks is %s, the trailer says %s: the file was changed", r.Content.Digest(), t.Digest)
		}
	}
	return session.Restore(r, parents...), nil
}

// record is all that the header says. Parent ids that are none are dropped.
func (h Header) record() session.Record {
	r := session.Record{Lineage: session.Lineage{Op: session.OpOfOpenRath(h.LineageKind), Path: h.LineageOperator}}
	r.ID, _ = session.ParseID(h.ID) // the zero id is an error of Session
	r.Lineage.Time, _ = time.Parse(time.RFC3339Nano, h.CreatedAt)
	for _, text := range h.ParentSessionIDs {
		if id, err := session.ParseID(text); err == nil {
			r.Lineage.Parents = append(r.Lineage.Parents, session.Parent{ID: id, Role: roleOf(r.Lineage.Op, len(r.Lineage.Parents))})
		}
	}
	for _, e := range h.LineageExtras {
		r.Lineage.Extras = append(r.Lineage.Extras, session.Extra{Key: untext(e[0]), Value: untext(e[1])})
	}
	r.Placement = h.placement()
	if h.Rath != nil {
		r.Lineage.Op, r.Lineage.Path, r.Lineage.Run = h.Rath.Op, h.Rath.Path, h.Rath.Run
		r.Placement.Level = h.Rath.Level
		for i := range min(len(r.Lineage.Parents), len(h.Rath.Roles)) {
			r.Lineage.Parents[i].Role = h.Rath.Roles[i]
		}
	}
	return r
}

// roleOf is the role that the n-th parent has in OpenRath: input, then prompt.
func roleOf(op session.Op, n int) session.Role {
	switch {
	case op == session.OpMerge:
		return session.RoleBranch
	case n == 1 && (op == session.OpForward || op == session.OpCompress):
		return session.RolePrompt
	}
	return session.RoleInput
}

// untext reads a string; of anything else it keeps the JSON.
func untext(v jsontext.Value) string {
	if data, err := jsontext.AppendUnquote(nil, v); err == nil {
		return string(data)
	}
	return string(v)
}

func (h Header) placement() (p sandbox.Placement) {
	if h.SandboxBackend == nil {
		return p
	}
	p.Backend, p.ID = *h.SandboxBackend, value(h.SandboxHandleID)
	if s := h.SandboxSpec; s != nil {
		p.Spec = sandbox.Spec{Image: value(s.Image), Entrypoint: value(s.Entrypoint), Env: value(s.Env), WorkingDir: value(s.WorkingDir)}
		var seconds float64
		if json.Unmarshal(s.TimeoutSeconds, &seconds) == nil {
			p.Spec.Timeout = time.Duration(seconds * float64(time.Second))
		}
	}
	return p
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

package jsonl

import (
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/session"
)

// Encode makes the file of a finished session. One that was imported gives the file that
// it comes from.
func Encode(s session.Session, closed time.Time) (*File, error) {
	f := &File{Header: headerOf(s.Record())}
	for i, c := range s.All() {
		record, err := chunkOf(i, c)
		if err != nil {
			return nil, err
		}
		f.Chunks = append(f.Chunks, record)
	}
	t := trailerOf(s, closed)
	f.Trailer = &t
	o, err := originalOf(s.Lineage())
	if err != nil {
		return nil, err
	}
	return f, f.restore(o)
}

// Write writes the lines.
func (f *File) Write(w io.Writer) error {
	lines, err := f.lines()
	if err != nil {
		return err
	}
	for _, data := range lines {
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

func (f *File) lines() ([][]byte, error) {
	records := []any{f.Header}
	for _, c := range f.Chunks {
		records = append(records, c)
	}
	if f.Trailer != nil {
		records = append(records, *f.Trailer)
	}
	lines := make([][]byte, len(records))
	for i, r := range records {
		var err error
		if lines[i], err = line(r); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func kindOf(r session.Record) string {
	first := session.KindUser
	if r.Content.Len() > 0 {
		first = r.Content.At(0).Kind()
	}
	return r.Lineage.Op.OpenRath(first)
}

func headerOf(r session.Record) Header {
	r.Lineage.Extras = Notes(r.Lineage.Extras)
	l := r.Lineage
	h := Header{
		RecordType: "header", SchemaVersion: schemaVersion,
		ID: r.ID.String(), CreatedAt: isoFormat(l.Time),
		LineageOperator: l.Path, LineageKind: kindOf(r),
	}
	roles := []session.Role{}
	for _, p := range l.Parents {
		h.ParentSessionIDs = append(h.ParentSessionIDs, p.ID.String())
		roles = append(roles, p.Role)
	}
	for _, e := range l.Extras {
		h.LineageExtras = append(h.LineageExtras, [2]jsontext.Value{text(e.Key), text(e.Value)})
	}
	h.place(r.Placement)
	if back := h.record(); !sameHeader(back, r) {
		h.Rath = &rathHeader{Op: l.Op, Path: l.Path, Run: l.Run, Roles: roles, Level: r.Placement.Level}
	}
	return h
}

// sameHeader reports whether reading a header back gives what was written.
func sameHeader(a, b session.Record) bool {
	a.Lineage.Time, b.Lineage.Time = time.Time{}, time.Time{}
	return reflect.DeepEqual(a.Lineage, b.Lineage) && a.Placement.Level == b.Placement.Level
}

func (h *Header) place(p sandbox.Placement) {
	if p.Backend == "" {
		return
	}
	h.SandboxBackend, h.SandboxHandleID = &p.Backend, &p.ID
	h.SandboxSpec = &Spec{TimeoutSeconds: jsontext.Value("null")}
	if p.Spec.Image != "" {
		h.SandboxSpec.Image = &p.Spec.Image
	}
	if p.Spec.Entrypoint != nil {
		h.SandboxSpec.Entrypoint = &p.Spec.Entrypoint
	}
	if p.Spec.Env != nil {
		h.SandboxSpec.Env = &p.Spec.Env
	}
	if p.Spec.Timeout > 0 {
		h.SandboxSpec.TimeoutSeconds = jsontext.Value(fmt.Sprint(p.Spec.Timeout.Seconds()))
	}
	if p.Spec.WorkingDir != "" {
		h.SandboxSpec.WorkingDir = &p.Spec.WorkingDir
	}
}

func text(s string) jsontext.Value {
	data, _ := jsontext.AppendQuote(nil, s) // bad bytes become U+FFFD
	return data
}

// The payloads, in OpenRath's order of members.
type (
	textPayload struct {
		Content string `json:"content"`
	}
	assistantPayload struct {
		Content   *string        `json:"content"`
		ToolCalls []functionCall `json:"tool_calls"` // null if there are none
	}
	functionCall struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	resultPayload struct {
		ToolCallID string `json:"tool_call_id"`
		Name       string `json:"name"`
		Content    string `json:"content"`
	}
)

func chunkOf(index int, c session.Chunk) (Chunk, error) {
	payload, err := json.Marshal(payloadOf(c), json.FormatNilSliceAsNull(true)) // no calls are null
	if err != nil {
		return Chunk{}, fmt.Errorf("encode chunk %d: %w", index, err)
	}
	r := Chunk{RecordType: "chunk", Index: index, Kind: c.Kind().String(), Payload: payload}
	if back, err := r.Chunk(); err != nil || !back.Equal(c) {
		r.Rath = &c
	}
	return r, nil
}

func payloadOf(c session.Chunk) any {
	switch c.Kind() {
	case session.KindAssistant:
		p := assistantPayload{}
		if content := c.Text(); content != "" {
			p.Content = &content
		}
		for call := range c.Calls() {
			p.ToolCalls = append(p.ToolCalls, functionCall{call.ID, "function", function{call.Name, call.Arguments}})
		}
		return p
	case session.KindToolResult:
		return resultPayload{c.Answer().CallID, c.Answer().Tool, c.Text()}
	}
	return textPayload{c.Text()}
}

func trailerOf(s session.Session, closed time.Time) Trailer {
	total := s.Total()
	t := Trailer{RecordType: "trailer", ClosedAt: isoFormat(closed), FinalChunkCount: s.Len()}
	if total.Calls > 0 || total.Total() > 0 {
		t.CumulativeUsage = &Usage{PromptTokens: &total.Input, CompletionTokens: &total.Output, TotalTokens: new(total.Total())}
	}
	t.Rath = &rathTrailer{Usage: s.Usage(), Digest: s.Digest()}
	return t
}

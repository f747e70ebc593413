// Package jsonl reads and writes OpenRath's session files: one JSON object a line, a
// header, the chunks, a trailer. While a session is being made its file has the suffix
// of [Partial]; a file that still has it is what a crash left behind.
//
// What Rath knows and OpenRath does not (parts other than text, outcomes, roles of
// parents, usage in detail) goes into an extra member "rath", which is left out wherever
// the plain members say it all. Lines are written as Python's json.dumps writes them,
// non-ASCII as it is.
//
// Next: [github.com/openrath-go/rath/memory/local], a memory on this machine.
package jsonl

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// The endings of file names.
const (
	Suffix  = ".jsonl"
	Partial = Suffix + ".__partial__"
)

const schemaVersion = 1

// File is a session file, member by member. Members that are not known here are kept.
type File struct {
	Header  Header
	Chunks  []Chunk
	Trailer *Trailer // nil: the session was not finished
}

// Header is the first line.
type Header struct {
	RecordType       string              `json:"record_type"` // "header"
	SchemaVersion    int                 `json:"schema_version"`
	ID               string              `json:"id"`
	CreatedAt        string              `json:"created_at"`
	ParentSessionIDs []string            `json:"parent_session_ids"`
	LineageOperator  string              `json:"lineage_operator"`
	LineageKind      string              `json:"lineage_kind"`
	LineageExtras    [][2]jsontext.Value `json:"lineage_extras"`
	SandboxBackend   *string             `json:"sandbox_backend"`
	SandboxSpec      *Spec               `json:"sandbox_spec"`
	SandboxHandleID  *string             `json:"sandbox_handle_id"`
	Rath             *rathHeader         `json:"rath,omitempty"`
	Rest             jsontext.Value      `json:",embed"`
}

// Spec is what a sandbox was made of.
type Spec struct {
	Image          *string            `json:"image"`
	Entrypoint     *[]string          `json:"entrypoint"`
	Env            *map[string]string `json:"env"`
	TimeoutSeconds jsontext.Value     `json:"timeout_seconds"`
	WorkingDir     *string            `json:"working_dir"`
	Rest           jsontext.Value     `json:",embed"`
}

// Chunk is the line of one chunk.
type Chunk struct {
	RecordType string         `json:"record_type"` // "chunk"
	Index      int            `json:"index"`
	Kind       string         `json:"kind"`
	Payload    jsontext.Value `json:"payload"`
	Rath       *session.Chunk `json:"rath,omitempty"` // the chunk itself, where the payload cannot say it all
	Rest       jsontext.Value `json:",embed"`
}

// Trailer is the last line.
type Trailer struct {
	RecordType      string         `json:"record_type"` // "trailer"
	ClosedAt        string         `json:"closed_at"`
	FinalChunkCount int            `json:"final_chunk_count"`
	CumulativeUsage *Usage         `json:"cumulative_usage"`
	Rath            *rathTrailer   `json:"rath,omitempty"`
	Rest            jsontext.Value `json:",embed"`
}

// Usage is the token count of a session and all its ancestors. nil is a count that is not
// known.
type Usage struct {
	PromptTokens     *int64         `json:"prompt_tokens"`
	CompletionTokens *int64         `json:"completion_tokens"`
	TotalTokens      *int64         `json:"total_tokens"`
	Rest             jsontext.Value `json:",embed"`
}

type rathHeader struct {
	Op    session.Op     `json:"op"`
	Path  string         `json:"path,omitempty"`
	Run   string         `json:"run,omitempty"`
	Roles []session.Role `json:"roles,omitempty"`
	Level string         `json:"level,omitempty"`
}

type rathTrailer struct {
	Usage  session.Usage   `json:"usage"`
	Extras []session.Extra `json:"extras,omitempty"` // of the lineage, known only at the end
	Digest session.Digest  `json:"digest"`
}

// FormatError says which line of a file is wrong.
type FormatError struct {
	File string
	Line int
	Err  error
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("read session %s:%d: %v", e.File, e.Line, e.Err)
}

func (e *FormatError) Unwrap() error { return e.Err }

// ErrEmpty is returned for a file without a whole header.
var ErrEmpty = errors.New("there is no header")

// line encodes a record as Python's json.dumps(ensure_ascii=False) would.
func line(record any) ([]byte, error) {
	data, err := json.Marshal(record, json.FormatNilSliceAsNull(false))
	if err != nil {
		return nil, err
	}
	out, err := jsontext.AppendFormat(nil, data, jsontext.SpaceAfterComma(true), jsontext.SpaceAfterColon(true))
	return append(out, '\n'), err
}

// The form of datetime.isoformat with an offset.
const (
	isoMicros  = "2006-01-02T15:04:05.000000-07:00"
	isoSeconds = "2006-01-02T15:04:05-07:00"
)

func isoFormat(t time.Time) string {
	if t.Nanosecond()/1000 == 0 {
		return t.UTC().Format(isoSeconds)
	}
	return t.UTC().Format(isoMicros)
}

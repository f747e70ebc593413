package jsonl

import (
	"io"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// Lineage is a line of OpenRath's lineage export, one for each session.
type Lineage struct {
	ID               string              `json:"id"`
	ParentSessionIDs []string            `json:"parent_session_ids"`
	LineageOperator  string              `json:"lineage_operator"`
	LineageKind      string              `json:"lineage_kind"`
	LineageExtras    [][2]jsontext.Value `json:"lineage_extras"`
	ChunkCount       int                 `json:"chunk_count"`
	CumulativeUsage  *Usage              `json:"cumulative_usage"`
}

// WriteLineage writes the lineage of sessions, one a line.
func WriteLineage(w io.Writer, sessions ...session.Session) error {
	for _, s := range sessions {
		h, err := headerAsRead(s)
		if err != nil {
			return err
		}
		t := trailerOf(s, s.Lineage().Time)
		data, err := line(Lineage{h.ID, h.ParentSessionIDs, h.LineageOperator, h.LineageKind, h.LineageExtras, s.Len(), t.CumulativeUsage})
		if err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return nil
}

// headerAsRead is the header of a session, that of its file if it was imported.
func headerAsRead(s session.Session) (Header, error) {
	f := File{Header: headerOf(s.Record())}
	o, err := originalOf(s.Lineage())
	if first, ok := o.Lines[0]; ok {
		err = f.restore(original{Lines: map[int]jsontext.Value{0: first}})
	}
	return f.Header, err
}

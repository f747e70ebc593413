package graph

import (
	"bufio"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/session"
)

// lineageLine is a line of OpenRath's lineage export.
type lineageLine struct {
	ID               session.ID      `json:"id"`
	ParentSessionIDs []session.ID    `json:"parent_session_ids"`
	LineageOperator  string          `json:"lineage_operator"`
	LineageKind      string          `json:"lineage_kind"`
	LineageExtras    [][2]string     `json:"lineage_extras"`
	ChunkCount       int             `json:"chunk_count"`
	CumulativeUsage  *openRathTokens `json:"cumulative_usage"`
}

type openRathTokens struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	TotalTokens      int64 `json:"total_tokens"`
}

// WriteOpenRath writes OpenRath's lineage export: a JSON object a line for each session,
// parents first, absent ones left out. The usage is that of the session and all its
// ancestors, each counted once; null if there was none.
func (g *Graph) WriteOpenRath(w io.Writer, _ *Options) error {
	sums, prompts := g.cumulative(), g.prompts()
	return write(w, func(out *bufio.Writer) error {
		for i := range int32(len(g.heads)) {
			if g.absent.has(i) {
				continue
			}
			line, err := encodeLine(g.lineageLine(i, prompts[i], sums[i]))
			if err != nil {
				return err
			}
			out.Write(line)
		}
		return nil
	})
}

func (g *Graph) lineageLine(i int32, prompt bool, sum session.Usage) lineageLine {
	h, first := &g.heads[i], session.KindUser
	if prompt {
		first = session.KindSystem
	}
	l := lineageLine{ID: h.ID, LineageOperator: h.Lineage.Path, LineageKind: h.Lineage.Op.OpenRath(first), ChunkCount: h.Len}
	for _, p := range g.parents(i) {
		l.ParentSessionIDs = append(l.ParentSessionIDs, g.heads[p.node].ID)
	}
	for _, e := range h.Lineage.Extras {
		l.LineageExtras = append(l.LineageExtras, [2]string{e.Key, e.Value})
	}
	if sum.Calls > 0 || sum.Total() > 0 {
		l.CumulativeUsage = &openRathTokens{sum.Input, sum.Output, sum.Total()}
	}
	return l
}

// prompts marks the sessions that were some session's prompt. Heads do not tell
// instructions from messages: a leaf that was a prompt is an instruction.
func (g *Graph) prompts() []bool {
	marked := make([]bool, len(g.heads))
	for i := range int32(len(g.heads)) {
		for _, p := range g.parents(i) {
			if p.role == session.RolePrompt {
				marked[p.node] = true
			}
		}
	}
	return marked
}

// encodeLine encodes as Python's json.dumps(ensure_ascii=False) would.
func encodeLine(l lineageLine) ([]byte, error) {
	data, err := json.Marshal(l, json.FormatNilSliceAsNull(false), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	out, err := jsontext.AppendFormat(nil, data, jsontext.SpaceAfterComma(true), jsontext.SpaceAfterColon(true))
	return append(out, '\n'), err
}

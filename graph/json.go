package graph

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/openrath-go/rath/session"
)

// JSON is what [Graph.WriteJSON] writes.
type JSON struct {
	// Nodes are the sessions in topological order, parents first.
	Nodes []session.Head `json:"nodes"`
	// Absent are the ids that are named as parents and are not among the nodes.
	Absent []session.ID `json:"absent"`
	// Edges come in the order of the child's node, then in that of its parents.
	Edges []JSONEdge `json:"edges"`
	// Totals sum every node once.
	Totals Total `json:"totals"`
}

// JSONEdge leads from a child to a parent.
type JSONEdge struct {
	Child  session.ID   `json:"child"`
	Parent session.ID   `json:"parent"`
	Role   session.Role `json:"role"`
	Elided bool         `json:"elided,omitempty"` // as [Parent.Elided]
}

// WriteJSON writes the graph as one [JSON] object, each node and edge on a line of its
// own. It may be put into an HTML page: <, > and & are escaped.
func (g *Graph) WriteJSON(w io.Writer, _ *Options) error {
	return write(w, func(out *bufio.Writer) error {
		list := jsonList{out: out}
		list.begin(`{"nodes": [`)
		for i := range g.heads {
			if !g.absent.has(int32(i)) {
				list.add(&g.heads[i])
			}
		}
		list.begin(`], "absent": [`)
		for id := range g.Absent() {
			list.add(id)
		}
		list.begin(`], "edges": [`)
		for i := range g.heads {
			for _, l := range g.parents(int32(i)) {
				list.add(JSONEdge{g.heads[i].ID, g.heads[l.node].ID, l.role, l.elided})
			}
		}
		list.begin(`], "totals":`)
		list.add(g.total())
		out.WriteString("}\n")
		return list.err
	})
}

// jsonList writes the elements of one array after another.
type jsonList struct {
	out *bufio.Writer
	n   int
	err error
}

func (l *jsonList) begin(text string) {
	if l.n > 0 {
		l.out.WriteByte('\n')
	}
	l.out.WriteString(text)
	l.n = 0
}

func (l *jsonList) add(v any) {
	data, err := json.Marshal(v)
	if err != nil && l.err == nil {
		l.err = err
	}
	if l.n > 0 {
		l.out.WriteByte(',')
	}
	l.out.WriteByte('\n')
	l.out.Write(data)
	l.n++
}

package evidence

import (
	"encoding/json"
	"slices"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// What is recorded of a model call: its input and its value.
type (
	recordedRequest struct {
		Prompt   Extent `json:"prompt"`
		Messages Extent `json:"messages"`
		Tools    []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Params json.RawMessage `json:"params"`
	}
	recordedReply struct {
		Reply struct {
			Chunk    session.Chunk   `json:"chunk"`
			Stop     string          `json:"stop"`
			Usage    session.Usage   `json:"usage"`
			ID       string          `json:"id"`
			Model    string          `json:"model"`
			Attempts json.RawMessage `json:"attempts"`
		} `json:"reply"`
		Error *struct {
			Message string `json:"message"`
		} `json:"error"`
	}
)

func (d *deriver) model(run session.ID, e *store.Effect) {
	m := ModelCall{Span: spanOf(run, e), Model: e.Name}
	m.Usage = session.Usage{Calls: 1, Unreported: 1, Cost: session.Cost{Unpriced: 1}} // it may have been paid for
	var asked recordedRequest
	if d.read(e.Input, &asked) {
		m.Prompt, m.Messages, m.Params = asked.Prompt, asked.Messages, asked.Params
		for _, t := range asked.Tools {
			m.Offered = append(m.Offered, t.Name)
		}
	}
	var got recordedReply
	if d.read(e.Result.Value, &got) {
		r := got.Reply
		m.Stop, m.Usage, m.ReplyID, m.Served, m.Retries = r.Stop, r.Usage, r.ID, r.Model, r.Attempts
		if got.Error != nil && m.Error == "" {
			m.Error = got.Error.Message
		}
		d.locate(&m, r.Chunk)
	}
	d.attribute(&m, e)
	d.out.Models = append(d.out.Models, m)
}

// locate finds the session that a reply went to: the one of the same workflow and run
// whose transcript goes on with the reply where the request ended. Of a reply that broke
// off, sessions keep the words.
func (d *deriver) locate(m *ModelCall, reply session.Chunk) {
	if m.Error != "" || m.Cancelled {
		reply = session.Assistant(slices.Collect(reply.Parts()))
	}
	n := m.Messages.Len
	for _, h := range d.made[[2]string{m.Run.String(), m.Path}] {
		rows := d.rows[h.ID]
		if n >= 0 && n < len(rows) && rows[n].Before == m.Messages.Digest && d.chunks[rows[n].Chunk].Equal(reply) {
			m.Session, m.Reply = h.ID, rows[n].Chunk
			return
		}
	}
}

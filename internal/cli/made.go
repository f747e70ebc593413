package cli

import (
	"context"
	"strings"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// madeRow is a session that has a selector's choice or a summary, as rath runs show has it.
type madeRow struct {
	Session session.ID `json:"session"`
	Path    string     `json:"path"`
	Choice  string     `json:"choice,omitempty"`
	Reason  string     `json:"reason,omitempty"`
	Removed string     `json:"removed,omitempty"` // how many chunks a summary took the place of
	Digest  string     `json:"digest,omitempty"`  // of the transcript that ends with them
	From    session.ID `json:"from,omitzero"`     // the session that still has them
}

// madeOf reads what a lineage says of a choice or a compression, and whether it does.
func madeOf(id session.ID, l session.Lineage) (m madeRow, ok bool) {
	m = madeRow{Session: id, Path: l.Path}
	for _, e := range l.Extras {
		switch e.Key {
		case "selector.choice":
			m.Choice = e.Value
		case "selector.reason":
			m.Reason = e.Value
		case "compress.removed":
			m.Removed = e.Value
		case "compress.from":
			m.Digest = e.Value
		}
	}
	for _, p := range l.Parents {
		if p.Role == session.RoleInput && m.Removed != "" {
			m.From = p.ID
		}
	}
	return m, m.Choice+m.Removed != ""
}

// line says it, the first word aside.
func (m madeRow) line() (word, text string) {
	if m.Choice != "" {
		return "choice", m.Path + ": " + oneLine(strings.TrimSuffix(m.Choice+", "+m.Reason, ", "), 300)
	}
	text = m.Path + ": a summary took the place of " + m.Removed + " chunks"
	if !m.From.IsZero() {
		text += "; rath show " + m.From.String() + " has them"
	}
	if m.Digest != "" {
		text += ", as transcript:" + m.Digest
	}
	return "compress", text
}

// made are the choices and the compressions of a run, in the order in which they were made.
func (r *records) made(ctx context.Context, run session.ID) ([]madeRow, error) {
	heads, err := collect(r.Heads(ctx, store.SessionFilter{Run: run.String()}))
	all := []madeRow{}
	for _, h := range heads {
		if m, ok := madeOf(h.ID, h.Lineage); ok {
			all = append(all, m)
		}
	}
	return all, err
}

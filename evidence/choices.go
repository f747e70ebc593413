package evidence

import (
	"slices"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Choice is what a selector chose for a session to go on with, or why it chose nothing.
type Choice struct {
	Session session.ID `json:"session"` // that has the choice in its lineage
	Run     string     `json:"run,omitempty"`
	Path    string     `json:"path,omitempty"`
	Choice  string     `json:"choice,omitempty"`  // a name, "done", or "none" where nothing fits
	Reason  string     `json:"reason,omitempty"`  // as the model has it
	Error   string     `json:"error,omitempty"`   // where there is no choice
	Effects []int64    `json:"effects,omitempty"` // the model calls
}

// The reasons why models are asked, beside going on with a conversation.
const (
	ForChoice  = "choice"
	ForSummary = "summary"
)

// What selectors and compressors note in lineages: docs/formats/lineage.md.
const (
	extraChoice       = "selector.choice"
	extraReason       = "selector.reason"
	extraNoChoice     = "selector.error"
	extraCompressFrom = "compress.from"
	extraNoSummary    = "compress.error"
)

func extraOf(l session.Lineage, key string) string {
	i := slices.IndexFunc(l.Extras, func(e session.Extra) bool { return e.Key == key })
	if i < 0 {
		return ""
	}
	return l.Extras[i].Value
}

// chose lists the choice of a session, if one made it.
func (d *deriver) chose(h *session.Head) {
	l := h.Lineage
	c := Choice{
		Session: h.ID, Run: l.Run, Path: l.Path,
		Choice: extraOf(l, extraChoice), Reason: extraOf(l, extraReason), Error: extraOf(l, extraNoChoice),
	}
	if d.version >= versionChoices && c.Choice+c.Error != "" {
		d.choices[h.ID] = len(d.out.Choices)
		d.out.Choices = append(d.out.Choices, c)
	}
}

// attribute finds the session of a model call whose reply is in none: a choice, or a summary
// or a part of one. It is what its workflow had begun last.
func (d *deriver) attribute(m *ModelCall, e *store.Effect) {
	h := d.head(d.scopes[e.Path].session)
	if d.version < versionChoices || !m.Session.IsZero() || h == nil || h.Lineage.Path != e.Path {
		return
	}
	switch i, chosen := d.choices[h.ID]; {
	case chosen:
		m.For, m.Session = ForChoice, h.ID
		d.out.Choices[i].Effects = append(d.out.Choices[i].Effects, e.ID)
	case h.Lineage.Op == session.OpCompress, extraOf(h.Lineage, extraNoSummary) != "":
		m.For, m.Session = ForSummary, h.ID
	}
}

// before tells what a compressor says of the part of the session that its summary is of.
func (d *deriver) before(r *Removal, h *session.Head) {
	if d.version < versionChoices {
		return
	}
	from := extraOf(h.Lineage, extraCompressFrom)
	for n, l := range d.rows[r.From] {
		if l.Digest.String() == from {
			r.Digest, r.Len = l.Digest, n+1
		}
	}
}

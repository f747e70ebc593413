package evidence

import (
	"cmp"
	"strings"

	"github.com/openrath-go/rath/session"
)

// The notes that agents leave in the lineage of what they could not finish.
const (
	extraError     = "loop.error"
	extraTruncated = "loop.truncated"
)

// reject lists what did not make it into the answer: what people refused, what failed or
// was stopped, and the branches that lead nowhere.
func (d *deriver) reject() {
	for _, q := range d.out.Questions {
		why := map[string]Why{"reject": WhyRejected, "expired": WhyExpired}[q.Verdict]
		if why == "" {
			continue
		}
		reason := q.Text
		if why == WhyExpired {
			reason = "nobody answered in time"
		}
		d.rejected(Rejection{
			Why: why, Reason: reason, By: q.By, Run: q.Run, Path: q.Path, Effect: q.Effect, Key: q.Key,
			What: strings.TrimSpace(q.Kind + " " + q.Tool),
		})
	}
	for _, c := range d.out.Tools {
		if c.Outcome == session.Denied && c.Question == "" && c.Approved == nil {
			d.rejected(Rejection{
				Why: WhyRejected, Reason: "nobody was there to approve it", Run: c.Run, Path: c.Path, Session: c.Session,
				What: kindTool + " " + c.Tool,
			})
		}
	}
	d.rejectEffects()
	d.rejectSessions()
}

func (d *deriver) rejected(r Rejection) { d.out.Rejected = append(d.out.Rejected, r) }

func (d *deriver) rejectEffects() {
	for _, r := range d.Runs {
		for _, e := range d.effects[r.ID] {
			why, reason := WhyFailed, cmp.Or(e.Result.Error, d.failed[e])
			switch {
			case e.Kind == kindApproval, e.Kind == kindInterrupt: // they stand among the questions
				continue
			case e.Result.Cancelled && !e.Done:
				why = WhyCancelled
			case reason == "":
				continue
			}
			d.rejected(Rejection{
				Why: why, Reason: reason, Run: r.ID, Path: e.Path, Effect: e.ID,
				What: strings.TrimSpace(e.Kind + " " + e.Name),
			})
		}
	}
}

func (d *deriver) rejectSessions() {
	ours := map[string]session.ID{}
	for _, r := range d.Runs {
		ours[r.ID.String()] = r.ID
	}
	for _, h := range d.Records.Sessions {
		l := h.Lineage
		run, ok := ours[l.Run]
		if !ok {
			continue
		}
		out := Rejection{Run: run, Path: l.Path, Session: h.ID, What: l.Op.String()}
		for _, e := range l.Extras {
			switch e.Key {
			case extraError:
				out.Why, out.Reason = WhyFailed, e.Value
			case extraTruncated:
				out.Why = WhyTruncated
			}
		}
		if out.Why == "" && !d.answer.IsZero() && !d.inAnswer[h.ID] {
			out.Why = WhyUnused
		}
		if out.Why != "" {
			d.rejected(out)
		}
	}
}

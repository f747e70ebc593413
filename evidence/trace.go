package evidence

import (
	"encoding/json"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// TracesOf reads from the records where a run was told of to OpenTelemetry, one for each of its
// executions that was.
func (p *page) TracesOf(run session.ID) (all []store.Traced) {
	for _, e := range p.EventsOf(run) {
		var t store.Traced
		if e.Kind == store.EventTrace && json.Unmarshal(e.Body, &t) == nil {
			all = append(all, t)
		}
	}
	return all
}

package evidence

import (
	"cmp"
	"slices"

	"github.com/openrath-go/rath/session"
)

// total sums usage. A session's is that of the workflow and the run that made it; model
// calls whose session was not kept are added to theirs.
func (d *deriver) total() {
	s := summer{Totals: &d.out.Totals, runs: map[string]*Run{}, paths: map[[2]string]*PathTotal{}}
	for i := range d.out.Runs {
		s.runs[d.out.Runs[i].ID.String()] = &d.out.Runs[i]
	}
	for _, h := range d.Records.Sessions {
		if h.Usage != (session.Usage{}) {
			s.use(h.Lineage.Run, h.Lineage.Path, h.Usage)
		}
	}
	for _, m := range d.out.Models {
		p := s.path(m.Run.String(), m.Path)
		p.Models, p.TookUS = p.Models+1, p.TookUS+m.TookUS
		if m.Session.IsZero() {
			s.use(m.Run.String(), m.Path, m.Usage)
		}
	}
	for _, c := range d.out.Tools {
		run := ""
		if !c.Run.IsZero() {
			run = c.Run.String()
		}
		p := s.path(run, c.Path)
		p.Tools, p.TookUS = p.Tools+1, p.TookUS+c.TookUS
	}
	s.finish()
	if !d.answer.IsZero() {
		total := d.graph.Totals(d.answer)
		s.Answer, s.Absent = total.Usage, total.Absent
	}
}

type summer struct {
	*Totals
	runs  map[string]*Run
	paths map[[2]string]*PathTotal
}

func (s *summer) path(run, path string) *PathTotal {
	key := [2]string{run, path}
	if s.paths[key] == nil {
		s.paths[key] = &PathTotal{Run: run, Path: path}
	}
	return s.paths[key]
}

func (s *summer) use(run, path string, u session.Usage) {
	s.All = s.All.Add(u)
	p := s.path(run, path)
	p.Usage = p.Usage.Add(u)
	if r := s.runs[run]; r != nil {
		r.Usage = r.Usage.Add(u)
	}
}

func (s *summer) finish() {
	for _, p := range s.paths {
		s.Paths = append(s.Paths, *p)
	}
	slices.SortFunc(s.Paths, func(a, b PathTotal) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Path, b.Path))
	})
}

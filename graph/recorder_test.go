package graph

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
)

func visits(r *Recorder) (texts []int) {
	for _, h := range r.Visits() {
		texts = append(texts, h.Len)
	}
	return texts
}

// sized makes a session that its length tells apart.
func sized(n int) session.Session {
	s := session.New()
	for range n {
		s = s.Append(session.User(session.Text("x")))
	}
	return s
}

func TestRecorder(t *testing.T) {
	var r Recorder
	a := sized(1)
	r.Add(sized(3), session.Session{}, a, sized(2), a)
	if diff := cmp.Diff([]int{3, 1, 2}, visits(&r)); diff != "" {
		t.Error(diff)
	}
	g := r.Graph()
	if _, ok := g.Head(a.ID()); g.Len() != 3 || !ok {
		t.Errorf("%d sessions, %v", g.Len(), ok)
	}
}

func TestRecorderKeepsTheLatest(t *testing.T) {
	var r Recorder
	s := session.New()
	mint, at := s.Reserve()
	longer := sized(2).Transcript()
	r.Add(s.Derive(longer.First(1), session.Step{ID: mint, Time: at}), sized(5))
	r.Add(s.Derive(longer, session.Step{ID: mint, Time: at}))
	if diff := cmp.Diff([]int{2, 5}, visits(&r)); diff != "" {
		t.Error(diff)
	}
}

func TestScopes(t *testing.T) {
	var outer, inner Recorder
	ctx := t.Context()
	steps := []struct {
		name  string
		ctx   context.Context
		outer bool
		inner bool
	}{
		{"no recorder", ctx, false, false},
		{"no recorder, on", On(ctx), false, false},
		{"a recorder", WithRecorder(ctx, &outer), true, false},
		{"two", WithRecorder(WithRecorder(ctx, &outer), &inner), true, true},
		{"off", Off(WithRecorder(WithRecorder(ctx, &outer), &inner)), false, false},
		{"on again", On(Off(WithRecorder(WithRecorder(ctx, &outer), &inner))), true, true},
		{"one within off", WithRecorder(Off(WithRecorder(ctx, &outer)), &inner), false, true},
		{"on within that", On(WithRecorder(Off(WithRecorder(ctx, &outer)), &inner)), true, true},
		{"off, on an outer context", WithRecorder(ctx, &outer), true, false},
	}
	for i, step := range steps {
		before := [2]int{len(outer.Visits()), len(inner.Visits())}
		Record(step.ctx, sized(i))
		got := []bool{len(outer.Visits()) > before[0], len(inner.Visits()) > before[1], Recording(step.ctx)}
		if diff := cmp.Diff([]bool{step.outer, step.inner, step.outer || step.inner}, got); diff != "" {
			t.Errorf("%s: outer, inner, recording: %s", step.name, diff)
		}
	}
}

func TestRecorderConcurrently(t *testing.T) {
	var r Recorder
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				r.Add(sized(i))
				r.Graph()
			}
		})
	}
	wg.Wait()
	if g := r.Graph(); g.Len() != 400 {
		t.Error(fmt.Sprint(g.Len(), " sessions"))
	}
}

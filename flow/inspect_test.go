package flow_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
)

// A nil pointer is as nil as can be, wherever it is.
func TestNilAgents(t *testing.T) {
	var none *flow.Agent
	type w = []flow.Workflow
	for _, test := range []struct {
		w    flow.Workflow
		want string
	}{
		{none, "the workflow: no workflow is set"},
		{(*flow.Label)(nil), "the workflow: no workflow is set"},
		{(*review)(nil), "the workflow: no workflow is set"},
		{nil, "the workflow: no workflow is set"},
		{flow.Sequence{none}, "[0]: no workflow is set"},
		{&flow.Parallel{Branches: w{flow.Done, none}}, "Branches[1]: no workflow is set"},
		{&flow.Label{Name: "l", Workflow: none}, "Workflow: no workflow is set"},
	} {
		if err := flow.Check(test.w); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
		var b strings.Builder
		if err := flow.Fprint(&b, test.w); err != nil || !strings.Contains(b.String(), "nil") {
			t.Errorf("%q, %v", b.String(), err)
		}
		for path, w := range flow.Inspect(test.w) {
			if w == none {
				t.Errorf("%s hides that it is nil", path)
			}
		}
	}
	if flow.Fingerprint(flow.Sequence{none}) != flow.Fingerprint(flow.Sequence{nil}) || flow.Fingerprint(none) != flow.Fingerprint(nil) {
		t.Error("one nil has another fingerprint than the other")
	}
}

// holder has what may hold itself: maps, slices, and itself as a value.
type holder struct {
	Map   nested
	Slice []part
	Steps []flow.Workflow
	Also  []flow.Workflow
	N     int
	Do    func()
}

type (
	nested map[string]nested
	part   struct {
		Step  flow.Workflow
		Parts []part
	}
)

func (holder) Forward(_ context.Context, s session.Session) (session.Session, error) { return s, nil }

func TestWhatHoldsItselfIsNotEnteredAgain(t *testing.T) {
	h := holder{Map: nested{}, Slice: make([]part, 1), Steps: make([]flow.Workflow, 2)}
	h.Map["again"] = h.Map
	h.Slice[0] = part{flow.Done, h.Slice}
	h.Also = h.Steps[:1] // shared only
	h.Steps[0] = flow.Done
	h.Steps[1] = h
	var paths []string
	for path := range flow.Inspect(h) {
		paths = append(paths, path)
	}
	if diff := cmp.Diff([]string{"", "Slice[0].Step", "Steps[0]", "Also[0]"}, paths); diff != "" {
		t.Error(diff)
	}
	if err := flow.Check(h); err == nil || err.Error() != "Steps[1]: holder holds itself" {
		t.Error(err)
	}
	if err := flow.Fprint(io.Discard, h); err != nil || flow.Fingerprint(h) == "" {
		t.Error(err)
	}
	if err := flow.Check(holder{Also: h.Also, Steps: []flow.Workflow{holder{Also: h.Also}}}); err != nil {
		t.Errorf("what is only shared: %v", err)
	}
}

package flow

import (
	"errors"
	"fmt"
)

// Checker lets a workflow of yours take part in [Check].
type Checker interface {
	Check() error
}

// Check looks a workflow over without running anything: every agent needs a model and
// tools that work, no child may be nil, no workflow may hold itself. It reports all
// that is wrong, each with its path.
func Check(w Workflow) error {
	var errs []error
	walk(rootOf(w), nil, func(path []Child, cycle bool) bool {
		name := pathOf(path)
		if name == "" {
			name = "the workflow"
		}
		if err := checkOne(path[len(path)-1].Workflow, cycle && !called(path)); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return true
	})
	return errors.Join(errs...)
}

func checkOne(w Workflow, cycle bool) error {
	switch c, ok := w.(Checker); {
	case w == nil:
		return missing("workflow")
	case cycle:
		return fmt.Errorf("%s holds itself", NameOf(w))
	case ok:
		return c.Check()
	}
	return nil
}

// Check reports what would keep the agent from working.
func (a *Agent) Check() error {
	var errs []error
	if a.Model == nil {
		errs = append(errs, missing("model"))
	}
	if a.MaxSteps < 0 {
		errs = append(errs, fmt.Errorf("MaxSteps is %d", a.MaxSteps))
	}
	if a.CompressAt < 0 || (a.CompressAt == 0) != (a.Compress == nil) {
		errs = append(errs, fmt.Errorf("CompressAt is %d: it is above 0 where Compress is set, and 0 where it is not", a.CompressAt))
	}
	if a.CommitOnForward && a.Memory == nil {
		errs = append(errs, errors.New("CommitOnForward is set, and there is no Memory"))
	}
	if c, ok := a.Policy.(Checker); ok {
		errs = append(errs, c.Check())
	}
	return errors.Join(append(errs, a.Tools.Check())...)
}

package flow

import (
	"fmt"
	"io"
	"strings"
)

// Fprint writes the tree of workflows, as print(model) does in PyTorch:
//
//	Review(
//	  (Draft): Agent("draft", scripted:, tools: read_workspace_file)
//	  (Checks): Parallel(
//	    (Branches[0]): Agent("style", scripted:)
//	  )
//	)
func Fprint(w io.Writer, root Workflow) error {
	p := &printer{w: w}
	p.node(rootOf(root), nil)
	return p.err
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(depth int, format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, strings.Repeat("  ", depth)+format+"\n", args...)
	}
}

func (p *printer) node(c Child, path []Child) {
	label := ""
	if c.Name != "" {
		label = "(" + c.Name + "): "
	}
	for _, above := range path {
		if same(above.Workflow, c.Workflow) {
			p.line(len(path), "%s%s, again", label, title(c.Workflow))
			return
		}
	}
	children := Children(c.Workflow)
	if len(children) == 0 {
		p.line(len(path), "%s%s", label, title(c.Workflow))
		return
	}
	p.line(len(path), "%s%s(", label, title(c.Workflow))
	path = append(path, c)
	for _, child := range children {
		p.node(child, path)
	}
	p.line(len(path)-1, ")")
}

// title says on one line what a workflow is.
func title(w Workflow) string {
	switch w := w.(type) {
	case nil:
		return "nil"
	case interface{ title() string }:
		return w.title()
	case done:
		return "Done"
	case *Label:
		return fmt.Sprintf("Label(%q)", w.Name)
	case fmt.Stringer: // workflows of yours
		return w.String()
	}
	return NameOf(w)
}

func (a *Agent) title() string {
	model := "no model"
	if a.Model != nil {
		model = a.Model.String()
	}
	text := fmt.Sprintf("Agent(%q, %s", a.WorkflowName(), model)
	if n := len(a.Tools); n > 0 {
		names := make([]string, n)
		for i, t := range a.Tools {
			names[i] = t.Name
		}
		text += fmt.Sprintf(", tools: %s", strings.Join(names, ", "))
	}
	if a.Policy != nil {
		text += ", policy"
	}
	if a.Memory != nil {
		text += ", memory: " + a.Memory.String()
	}
	return text + ")"
}

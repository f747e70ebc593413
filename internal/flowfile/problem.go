package flowfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Problem is something in a file that is not as it must be.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // in characters, from 1
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what can be done about it
}

// String is the problem on one line, as compilers write them.
func (p Problem) String() string {
	text := fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Path != "" {
		text += p.Path + ": "
	}
	text += p.Message
	if p.Hint != "" {
		text += " (" + p.Hint + ")"
	}
	return text
}

// Problems are all that is wrong with a file, in its order.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Hint says where to look.
func (p Problems) Hint() string { return "docs/flow.schema.json says what a flow's file may have" }

// mostProblems is how many are reported: more help nobody.
const mostProblems = 100

// report collects the problems of a file.
type report struct {
	file  string
	found Problems
}

func (r *report) add(at *node, hint, format string, args ...any) {
	r.found = append(r.found, Problem{r.file, at.line, at.column, at.path, fmt.Sprintf(format, args...), hint})
}

// err returns the problems, in order, nil if there are none.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	return r.found.sorted()
}

func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Message, b.Message))
	})
	return p[:min(len(p), mostProblems)]
}

// Join puts the problems of two errors together; an error that is none of [Problems] stands
// for itself.
func Join(a, b error) error {
	var first, second Problems
	if !errors.As(a, &first) || !errors.As(b, &second) {
		return cmp.Or(a, b)
	}
	return append(slices.Clone(first), second...).sorted()
}

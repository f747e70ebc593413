package policy

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// anything is a command of which nothing is known.
var anything = subject{unknown: true}

// maxNesting is how deep lines within lines are followed.
const maxNesting = 8

// commandsIn are the simple commands in a line for the shell, wherever in it they are.
func commandsIn(line string) []subject { return commandsWithin(line, maxNesting) }

// misread is what shells read otherwise than the parser: words and comments that seem to go
// on in the next line, such as "$\
// (rm x)", and carriage returns, which are nothing to the parser and a letter to shells.
var misread = regexp.MustCompile("[\r" + string(unseen) + "]|[^ \t\n]\\\\\n|#[^\n]*\\\\\n")

// commandsWithin are those of a line, at so many levels. Some lines are one thing to sh and
// another to bash, and either may run it: the line has the commands of both readings.
func commandsWithin(line string, deep int) []subject {
	if deep == 0 || misread.MatchString(line) {
		return []subject{anything}
	}
	var all []subject
	seen := map[string]bool{}
	for _, variant := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(line), "")
		if err != nil {
			return []subject{anything}
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if n != nil && !understood(n, line) {
				all = append(all, anything)
			}
			switch n := n.(type) {
			case *syntax.CallExpr:
				all = append(all, commandsOf(n, deep, seen)...)
			case *syntax.DeclClause:
				all = append(all, assignments(n.Variant.Value+" ", n.Args)...)
			case *syntax.Redirect:
				all = append(all, redirection(n)...)
			}
			return true
		})
	}
	return all
}

// understood reports whether a part of a line is of a kind that is known to run what is seen
// in it and nothing else. Arithmetic is not: bash runs what a variable's text has in an
// array's subscript.
func understood(n syntax.Node, line string) bool {
	switch n := n.(type) {
	case *syntax.File, *syntax.Comment, *syntax.Stmt, *syntax.BinaryCmd, *syntax.CallExpr, *syntax.Assign, *syntax.Redirect,
		*syntax.Subshell, *syntax.Block, *syntax.FuncDecl, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause,
		*syntax.WordIter, *syntax.CaseClause, *syntax.CaseItem, *syntax.TimeClause,
		*syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.ParamExp:
		return true
	case *syntax.DeclClause:
		return slices.Contains([]string{"export", "local", "readonly"}, n.Variant.Value)
	case *syntax.CmdSubst: // backquotes take backslashes away that the parser leaves
		return !n.Backquotes || !strings.Contains(line[n.Left.Offset():n.Right.Offset()], `\`)
	}
	return false
}

// commandsOf are a simple command and those that it is given to run, unless they have been
// seen, and its assignments: who sets PATH runs another program.
func commandsOf(n *syntax.CallExpr, deep int, seen map[string]bool) (all []subject) {
	words := make([]string, len(n.Args))
	for i, w := range n.Args {
		words[i] = textOf(w)
	}
	if len(n.Assigns) > 0 {
		all = assignments("", n.Assigns)
	}
	key := strings.Join(words, "\r") // which is in no word
	if len(words) > 0 && !seen[key] {
		seen[key] = true
		all = append(all, simple(words, deep)...)
	}
	return all
}

// simple is a command by its words, and those within it. A name with blanks in it would look
// like a name and arguments.
func simple(words []string, deep int) []subject {
	if strings.ContainsAny(words[0], string(unseen)+" \t\n") {
		return []subject{anything}
	}
	s := subject{text: strings.Join(words, " ")}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	s.also = append(s.also, strings.Join(append([]string{name}, words[1:]...), " "))
	return append([]subject{s}, inner(name, words[1:], deep-1)...)
}

// evaluated are the variables whose text a shell expands, with the commands in it.
var evaluated = strings.Fields("BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4")

func assignments(before string, assigns []*syntax.Assign) (all []subject) {
	for _, a := range assigns {
		text := before
		if a.Name != nil && slices.Contains(evaluated, a.Name.Value) {
			all = append(all, anything)
		}
		switch {
		case a.Name == nil:
			text += textOf(a.Value)
		case a.Naked:
			text += a.Name.Value
		case a.Value == nil:
			text += a.Name.Value + "="
		default:
			text += a.Name.Value + "=" + textOf(a.Value)
		}
		if a.Array != nil || a.Index != nil {
			text += string(unseen)
		}
		all = append(all, subject{text: text})
	}
	if len(assigns) == 0 && before != "" {
		all = append(all, subject{text: strings.TrimSpace(before)})
	}
	return all
}

// redirection is what a redirection reads or writes, unless that is nothing.
func redirection(n *syntax.Redirect) []subject {
	sign := "> "
	switch n.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return nil
	case syntax.RdrIn, syntax.DplIn:
		sign = "< "
	}
	target := textOf(n.Word)
	duplicates := n.Op == syntax.DplOut || n.Op == syntax.DplIn
	if target == "/dev/null" || duplicates && strings.Trim(target, "0123456789-") == "" {
		return nil
	}
	return []subject{{text: sign + target}}
}

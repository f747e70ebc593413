package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// anything is a command of which nothing is known.
var anything = subject{unknown: true}

// maxNesting is how deep lines within lines are followed.
const maxNesting = 8

// commandsIn are the simple commands in a line for the shell, wherever in it they are.
func commandsIn(line string) []subject { return commandsWithin(line, maxNesting) }

func commandsWithin(line string, deep int) []subject {
	if deep == 0 || strings.ContainsRune(line, unseen) {
		return []subject{anything}
	}
	// Bash's grammar has that of sh in it. Lines that only another shell reads otherwise
	// are a gap.
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(line), "")
	if err != nil {
		return []subject{anything}
	}
	var all []subject
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			all = append(all, commandsOf(n, deep)...)
		case *syntax.DeclClause:
			all = append(all, assignments(n.Variant.Value+" ", n.Args)...)
		case *syntax.Redirect:
			all = append(all, redirection(n)...)
		}
		return true
	})
	return all
}

// commandsOf are a simple command and those that it is given to run.
func commandsOf(n *syntax.CallExpr, deep int) []subject {
	words := make([]string, len(n.Args))
	for i, w := range n.Args {
		words[i] = textOf(w)
	}
	if len(words) == 0 {
		return assignments("", n.Assigns)
	}
	if strings.ContainsRune(words[0], unseen) {
		return []subject{anything}
	}
	all := simple(words, deep)
	if len(n.Assigns) > 0 { // who sets PATH runs another program: that must be allowed as well
		all = append(all, assignments("", n.Assigns)...)
	}
	return all
}

// simple is a command by its words, and those within it.
func simple(words []string, deep int) []subject {
	s := subject{text: strings.Join(words, " ")}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	s.also = append(s.also, strings.Join(append([]string{name}, words[1:]...), " "))
	return append([]subject{s}, inner(name, words[1:], deep-1)...)
}

func assignments(before string, assigns []*syntax.Assign) (all []subject) {
	for _, a := range assigns {
		text := before
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

// textOf is a word as the command gets it, as far as that can be told.
func textOf(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(bare(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(quoted(p.Value, p.Dollar))
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				lit, ok := q.(*syntax.Lit)
				if !ok {
					b.WriteRune(unseen)
					continue
				}
				b.WriteString(unescape(lit.Value, "$`\"\\\n"))
			}
		default:
			b.WriteRune(unseen)
		}
	}
	return b.String()
}

func quoted(text string, dollar bool) string {
	if dollar && strings.Contains(text, `\`) {
		return string(unseen)
	}
	return text
}

// bare is unquoted text. Globs and braces become what only the shell knows.
func bare(text string) string {
	if strings.Contains(text, "{") && (strings.Contains(text, ",") || strings.Contains(text, "..")) {
		return string(unseen)
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i < len(text) && text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case '*', '?', '[':
			b.WriteRune(unseen)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// unescape takes backslashes away in front of certain characters.
func unescape(text, of string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte(of, text[i+1]) >= 0 {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

package flowfile

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// What a file may have. The limits are far above what anybody writes, and keep small files
// from becoming large work.
const (
	MaxSize  = 256 << 10 // bytes
	maxDepth = 64
	maxNodes = 50_000 // with what aliases repeat
)

// read makes a tree of YAML. What is wrong with it is reported; the tree is nil if nothing
// can be said of what it means.
func read(data []byte, r *report) (root *node) {
	top := &node{line: 1, column: 1}
	switch {
	case len(data) > MaxSize:
		r.add(top, "", "the file is longer than %d KiB", MaxSize>>10)
		return nil
	case !utf8.Valid(data):
		r.add(top, "", "the file is not text in UTF-8")
		return nil
	}
	defer func() { // of the library: files come from anywhere
		if p := recover(); p != nil {
			r.add(top, "", "the file cannot be read as YAML: %v", p)
			root = nil
		}
	}()
	tokens := lexer.Tokenize(strings.TrimPrefix(string(data), "\ufeff"))
	if t := tooDeep(tokens); t != nil {
		r.add(placed(t), "", "it is nested more than %d levels deep", maxDepth)
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.add(syntax(err, top))
		return nil
	}
	return document(file, top, r)
}

func document(file *ast.File, top *node, r *report) *node {
	var bodies []ast.Node
	for _, d := range file.Docs {
		if d != nil && d.Body != nil {
			bodies = append(bodies, d.Body)
		}
	}
	switch len(bodies) {
	case 0:
		r.add(top, "it begins with agents:", "the file is empty")
		return nil
	case 1:
	default:
		r.add(beginning(bodies[1]), "", "there is a second document in the file")
		return nil
	}
	c := converter{report: r, anchors: map[string]ast.Node{}}
	n := c.node(bodies[0], "", 0)
	if c.failed {
		return nil
	}
	return n
}

// syntax is the arguments of add for an error of the parser.
func syntax(err error, top *node) (at *node, hint, format string, args any) {
	var placedErr interface {
		GetToken() *token.Token
		GetMessage() string
	}
	if errors.As(err, &placedErr) && placedErr.GetToken() != nil {
		if message := placedErr.GetMessage(); strings.Contains(message, "mapping value is not allowed") {
			return placed(placedErr.GetToken()), `a text with a colon at its end, or before a space, needs quotes: "offline:"`, "%s", message
		}
		return placed(placedErr.GetToken()), "", "%s", placedErr.GetMessage()
	}
	return top, "", "%s", err
}

// tooDeep finds where tokens nest so deep that the parser's recursion would, too. What
// nests by indentation alone is bounded by the file's size.
func tooDeep(tokens token.Tokens) *token.Token {
	depth, line, entries := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth = max(0, depth-1)
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			if t.Position.Line != line {
				line, entries = t.Position.Line, 0
			}
			entries++
		}
		if depth > maxDepth || entries > maxDepth || t.Position.IndentNum > MaxSize/64 {
			return t
		}
	}
	return nil
}

func placed(t *token.Token) *node {
	n := &node{line: 1, column: 1}
	if t != nil && t.Position != nil {
		n.line, n.column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return n
}

// beginning is where a value begins. The token that the parser gives an object is its first
// colon.
func beginning(of ast.Node) *node {
	switch of := of.(type) {
	case *ast.MappingNode:
		if len(of.Values) > 0 {
			return placed(of.Values[0].Key.GetToken())
		}
	case *ast.MappingValueNode:
		return placed(of.Key.GetToken())
	}
	return placed(of.GetToken())
}

// converter makes nodes of the parser's tree.
type converter struct {
	*report
	anchors map[string]ast.Node
	count   int
	failed  bool
}

func (c *converter) fail(at ast.Node, path, hint, format string, args ...any) *node {
	n := beginning(at)
	n.path, n.kind = path, isNull
	c.failed = true
	c.add(n, hint, format, args...)
	return n
}

func (c *converter) node(from ast.Node, path string, depth int) *node {
	if c.count++; c.count > maxNodes || depth > maxDepth {
		if c.failed && c.count > maxNodes+1 { // it has been said
			return &node{kind: isNull, path: path}
		}
		return c.fail(from, path, "", "the file has too much in it: more than %d values, with what aliases repeat, or %d levels", maxNodes, maxDepth)
	}
	n := beginning(from)
	n.path = path
	switch from := from.(type) {
	case *ast.MappingNode:
		return c.object(n, from.Values, depth)
	case *ast.MappingValueNode:
		return c.object(n, []*ast.MappingValueNode{from}, depth)
	case *ast.SequenceNode:
		n.kind = isList
		for i, value := range from.Values {
			n.items = append(n.items, c.node(value, element(path, i), depth+1))
		}
		return n
	case *ast.AnchorNode:
		c.anchors[from.Name.GetToken().Value] = from.Value
		return c.node(from.Value, path, depth+1)
	case *ast.AliasNode:
		target := c.anchors[from.Value.GetToken().Value]
		if target == nil {
			return c.fail(from, path, "an anchor stands before its aliases: &"+from.Value.GetToken().Value, "there is no anchor %q", from.Value.GetToken().Value)
		}
		return c.node(target, path, depth+1)
	}
	return c.scalar(n, from)
}

func (c *converter) scalar(n *node, from ast.Node) *node {
	switch from := from.(type) {
	case *ast.StringNode:
		if from.Token.Type == token.StringType && isPlainNumber(from.Value) {
			return c.large(n, from)
		}
		n.kind, n.value = isText, from.Value
	case *ast.LiteralNode:
		n.kind, n.value = isText, from.Value.Value
	case *ast.IntegerNode:
		n.kind, n.value = isNumber, float(from.Value)
	case *ast.FloatNode:
		n.kind, n.value = isNumber, from.Value
		if math.IsInf(from.Value, 0) || math.IsNaN(from.Value) {
			return c.fail(from, n.path, "", "%s is no number that can be used", from.Token.Value)
		}
	case *ast.BoolNode:
		n.kind, n.value = isTruth, from.Value
	case *ast.NullNode:
		n.kind = isNull
	case *ast.TagNode:
		return c.fail(from, n.path, "leave it out", "tags such as %s are not used here", from.Start.Value)
	default:
		return c.fail(from, n.path, "", "%s is nothing that can be used here", from.Type())
	}
	return n
}

// isPlainNumber reports whether a text without quotes is a number by YAML's core schema. The
// parser takes numbers with an exponent and without a point for texts, and those of more
// than 64 bits.
var isPlainNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`).MatchString

// large is a number that the parser has left as a text.
func (c *converter) large(n *node, from *ast.StringNode) *node {
	f, err := strconv.ParseFloat(from.Value, 64)
	if err != nil {
		return c.fail(from, n.path, "", "%s is no number that can be used", from.Value)
	}
	n.kind, n.value = isNumber, f
	return n
}

// float is an integer as JSON has it. One that is too large to be exact is so in any case
// too large for a setting.
func float(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	}
	return float64(0)
}

func (c *converter) object(n *node, values []*ast.MappingValueNode, depth int) *node {
	n.kind = isObject
	lines := map[string]int{} // of the names
	for _, v := range values {
		if v.Key.IsMergeKey() {
			c.fail(v.Key, n.path, "write the members out, or give the whole object an alias", "merge keys are not used here")
			continue
		}
		key := c.key(v.Key, n.path)
		if key == nil {
			continue
		}
		name := key.value.(string)
		if first := lines[name]; first > 0 {
			c.add(key, "", "%s is there twice: first in line %d", name, first)
			c.failed = true
			continue
		}
		lines[name] = key.line
		n.members = append(n.members, member{key, c.node(v.Value, key.path, depth+1)})
	}
	return n
}

// key is the name of a member: any scalar, as it is written.
func (c *converter) key(from ast.MapKeyNode, path string) *node {
	var name string
	switch k := from.(type) {
	case *ast.StringNode:
		name = k.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		name = from.GetToken().Value
	default:
		c.fail(from, path, "", "a name must be a plain text, not %s", from.Type())
		return nil
	}
	n := placed(from.GetToken())
	n.kind, n.value, n.path = isText, name, below(path, name)
	return n
}

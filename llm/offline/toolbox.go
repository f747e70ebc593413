package offline

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openrath-go/rath/llm"
)

// The built-in tools that the rules use.
const (
	readTool   = "read_workspace_file"
	writeTool  = "write_workspace_file"
	listTool   = "list_workspace_files"
	findTool   = "find_workspace_files"
	searchTool = "search_workspace"
	shellTool  = "run_shell_command"
)

// toolbox is the tools that are offered.
type toolbox []llm.Tool

func (b toolbox) has(name string) bool {
	return slices.ContainsFunc(b, func(t llm.Tool) bool { return t.Name == name })
}

// help says what was not understood, and gives examples of what would be.
func (b toolbox) help(asked string) string {
	lines := []string{"I am the built-in offline model, a rule-follower and not a language model."}
	if asked = strings.TrimSpace(asked); asked != "" {
		lines = append(lines, "I do not know what to do about: "+asked)
	}
	lines = append(lines, "These are examples of what I understand here:")
	for _, r := range rules {
		if r.example != "" && (r.needs == "" || b.has(r.needs)) {
			lines = append(lines, "- "+r.example)
		}
	}
	for _, t := range b {
		if !builtin(t.Name) {
			lines = append(lines, "- use "+t.Name+": "+t.Description)
		}
	}
	return strings.Join(lines, "\n")
}

func builtin(name string) bool {
	return strings.HasSuffix(name, "_workspace_file") || strings.HasSuffix(name, "_workspace_files") ||
		name == shellTool || name == searchTool || name == "run_code" || name == "workspace_path_exists"
}

var (
	wordRE   = regexp.MustCompile(`[a-zA-Z]+`)
	numberRE = regexp.MustCompile(`-?\d+(?:\.\d+)?`)
	textRE   = regexp.MustCompile("(?s)(" + quoted + `)|:\s*(.+)$`)
)

// match finds the one tool of the user's whose name is spoken of in the request, and
// fills its arguments: texts in quotes or behind a colon, and numbers, in order.
func (b toolbox) match(request string) step {
	var found *llm.Tool
	for i, t := range b {
		if builtin(t.Name) || !spoken(t.Name, request) {
			continue
		}
		if found != nil {
			return nil // ambiguous
		}
		found = &b[i]
	}
	if found == nil {
		return nil
	}
	arguments, ok := fill(*found, request)
	if !ok {
		return nil
	}
	return own(found.Name, arguments)
}

// spoken reports whether every word of a tool's name is in the request, in singular or
// plural.
func spoken(name, request string) bool {
	said := map[string]bool{}
	for _, w := range wordRE.FindAllString(strings.ToLower(request), -1) {
		said[w], said[strings.TrimSuffix(w, "s")] = true, true
	}
	words := wordRE.FindAllString(strings.ToLower(name), -1)
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !said[w] && !said[strings.TrimSuffix(w, "s")] })
}

// fill gives every required property a value of its type from the request.
func fill(t llm.Tool, request string) (map[string]any, bool) {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal(t.Schema, &schema) != nil {
		return nil, false
	}
	texts := texts(request)
	numbers := numberRE.FindAllString(request, -1)
	arguments := map[string]any{}
	for _, name := range schema.Required {
		switch schema.Properties[name].Type {
		case "string":
			if len(texts) == 0 {
				return nil, false
			}
			arguments[name], texts = texts[0], texts[1:]
		case "integer", "number":
			if len(numbers) == 0 {
				return nil, false
			}
			n, err := strconv.ParseFloat(numbers[0], 64)
			if err != nil {
				return nil, false
			}
			arguments[name], numbers = n, numbers[1:]
		default:
			return nil, false
		}
	}
	return arguments, true
}

func texts(request string) []string {
	var out []string
	for _, m := range textRE.FindAllStringSubmatch(request, -1) {
		if text := unquote(m[1]) + m[2]; text != "" {
			out = append(out, text)
		}
	}
	return out
}

package flowfile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/internal/flowfile"
	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/scripted"
	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
)

// stage is an opener whose models echo what they are, or play what a test says.
type stage struct {
	replies map[string][]scripted.Reply
	tools   tool.Set
	asked   []string
}

func (s *stage) Model(name string) (llm.Model, llm.Params, error) {
	s.asked = append(s.asked, name)
	return scripted.New(s.replies[name]...), llm.Params{MaxTokens: 7}, nil
}
func (s *stage) Tools(string, []string) (tool.Set, error) { return nil, nil }
func (s *stage) Memory() (*memory.Store, tool.Set, error) { return nil, nil, nil }
func (s *stage) Told() flowfile.Told                      { return flowfile.Told{} }
func (s *stage) MaxSteps() int                            { return 3 }
func (s *stage) Policy(p *flowfile.Policy) (tool.Policy, error) {
	if p == nil {
		return nil, nil
	}
	return written{p}, nil
}
func (s *stage) Prices() (*llm.Prices, error) { return llm.LoadPrices("") }
func (s *stage) Server(context.Context, string, *flowfile.Server) (tool.Set, error) {
	return s.tools, nil
}

// written is a policy that only says what is written.
type written struct{ *flowfile.Policy }

func (written) Judge(context.Context, *tool.Tool, session.Call) (tool.Judgment, error) {
	return tool.Judgment{}, nil
}

func texts(all ...string) (replies []scripted.Reply) {
	for _, t := range all {
		replies = append(replies, scripted.Reply{Text: t})
	}
	return replies
}

func build(t *testing.T, text string, s *stage) *flowfile.Program {
	t.Helper()
	f, err := flowfile.Parse("f.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := f.Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const every = `
entry: all
params: {temperature: 0.5}
budget: {tokens: 1000000, calls: 50, tool_calls: 9, time: 1h}
mcp: {files: {command: [serve]}}
agents:
  draft: {model: d, params: {max_tokens: 9}, mcp: [files], max_steps: 5, compress: {with: tidy, at: 100000}}
  one: {model: a}
  two: {model: b}
  edit: {model: e}
  help: {model: h, description: helps}
workflows:
  all: {sequence: [draft, both, again, desk, tidy]}
  both: {parallel: {branches: [one, two], share: true, limit: 1}}
  again: {loop: {of: edit, max_rounds: 3, until: {contains: DONE}}}
  desk: {route: {selector: {model: s, prompt: fair}, choices: [help, capped], max_rounds: 2}}
  capped: {description: costs, budget: {of: two, calls: 5}}
  tidy: {compress: {model: c, keep: 0}}
`

func TestEveryConstruct(t *testing.T) {
	choice := func(name string) string { return fmt.Sprintf(`{"reason":"r","choice":%q}`, name) }
	s := &stage{replies: map[string][]scripted.Reply{
		"d": texts("drafted"), "a": texts("one"), "b": texts("two"), "e": texts("more", "DONE"), "h": texts("helped"),
		"s": texts(choice("help"), choice("done")), "c": texts("all of it"),
	}}
	s.tools = tool.Set{tool.New("files_read", "Read.", func(context.Context, struct{}) (string, error) { return "", nil })}
	p := build(t, every, s)
	if err := flow.Check(p); err != nil {
		t.Fatal(err)
	}
	out, err := p.Forward(t.Context(), session.FromUser("go"))
	if err != nil {
		t.Fatal(err)
	}
	if out.Text() != "all of it" {
		t.Errorf("it ends with %q", out.Text())
	}
	var tree strings.Builder
	_ = flow.Fprint(&tree, p)
	for _, want := range []string{`Flow("f.yaml", budget: 1000000 tokens, 50 calls of models, 9 calls of tools, 1h0m0s)`, `Loop(at most 3 rounds, until the last reply contains "DONE")`, "Budget(5 calls of models)", `Compressor("tidy"`} {
		if !strings.Contains(tree.String(), want) {
			t.Errorf("the tree has no %s:\n%s", want, tree.String())
		}
	}
	rows := flowfile.Agents(p)
	if len(rows) != 5 || rows[0].MaxSteps != 5 || rows[1].MaxSteps != 3 || rows[0].Tools[0] != "mcp:files" {
		t.Errorf("agents %+v", rows)
	}
}

// The settings of a provider, the file and the agent lie over each other.
func TestParams(t *testing.T) {
	p := build(t, every, &stage{})
	for _, w := range flow.Inspect(p) {
		a, ok := w.(*flow.Agent)
		if !ok {
			continue
		}
		want := 7
		if a.Name == "draft" {
			want = 9
		}
		if a.Params.MaxTokens != want || *a.Params.Temperature != 0.5 {
			t.Errorf("%s has %+v", a.Name, a.Params)
		}
	}
}

func TestLoopLimit(t *testing.T) {
	for _, test := range []struct {
		limit string
		err   error
		last  string
	}{{"", flow.ErrMaxRounds, "2"}, {", on_limit: continue", nil, "2"}} {
		s := &stage{replies: map[string][]scripted.Reply{"": texts("1", "2", "3")}}
		p := build(t, `{agents: {a: {}}, workflows: {l: {loop: {of: a, max_rounds: 2, until: {matches: "x|3"}`+test.limit+`}}}}`, s)
		out, err := p.Forward(t.Context(), session.FromUser("go"))
		if !errors.Is(err, test.err) || out.Text() != test.last {
			t.Errorf("%q: %q, %v", test.limit, out.Text(), err)
		}
	}
}

func TestBudgetEnds(t *testing.T) {
	s := &stage{replies: map[string][]scripted.Reply{"": texts("1", "2", "3")}}
	p := build(t, `{agents: {a: {}}, workflows: {l: {loop: {of: a, max_rounds: 3}}}, budget: {calls: 2}}`, s)
	out, err := p.Forward(t.Context(), session.FromUser("go"))
	if !errors.Is(err, flow.ErrBudgetExceeded) || out.Text() != "2" {
		t.Errorf("%q, %v", out.Text(), err)
	}
}

// Whatever is wrong is said at once, with its place.
func TestProblems(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"fields": {"agents:\n  a:\n    modle: m\n    max_steps: 0\n    tools: 3\n", []string{
			"3:5 agents.a.modle: there is no such field (did you mean model?)", "4:16 agents.a.max_steps: 0 is less than 1",
			"5:12 agents.a.tools: it must be a text or a list, and is a number",
		}},
		"one of":    {"agents: {a: {}}\nworkflows:\n  w: {sequence: [a], loop: {of: a, max_rounds: 1}}\n  x: {}\n", []string{"3:7 workflows.w: it can have only one of sequence, loop", "4:6 workflows.x: it needs one of sequence, parallel, route, compress, loop, budget"}},
		"twice":     {"agents:\n  a: {}\n  a: {}\n", []string{"3:3 agents.a: a is there twice"}},
		"names":     {"agents: {writer: {}}\nworkflows: {w: {sequence: [writre]}}\nentry: v\n", []string{"2:28 workflows.w.sequence[0]: there is no agent or workflow \"writre\" (did you mean writer?)", "3:8 entry: there is no"}},
		"circle":    {"agents: {a: {}}\nworkflows:\n  w: {sequence: [x]}\n  x: {sequence: [w]}\n", []string{"4:18 workflows.x.sequence[0]: w -> x -> w"}},
		"entry":     {"agents: {a: {}, b: {}}", []string{"it is not clear which of a, b runs"}},
		"regexp":    {"agents: {a: {}}\nworkflows: {l: {loop: {of: a, max_rounds: 1, until: {matches: '('}}}}", []string{"2:63 workflows.l.loop.until.matches: error parsing regexp"}},
		"syntax":    {"agents: {a: {model: [}}", []string{"1:"}},
		"empty":     {"", []string{"1:1 : the file is empty"}},
		"scalar":    {"hello", []string{"it must be an object, and is a text"}},
		"documents": {"agents: {a: {}}\n---\nagents: {b: {}}\n", []string{"3:1 : there is a second document"}},
		"merge":     {"agents: {a: &x {}, b: {<<: *x}}", []string{"merge keys are not used here"}},
		"alias":     {"agents: {a: *x}", []string{`there is no anchor "x"`}},
		"itself":    {"agents: &x {a: *x}", []string{"too much in it"}},
		"utf8":      {"agents: \xff", []string{"not text in UTF-8"}},
		"long":      {strings.Repeat("#", flowfile.MaxSize+1), []string{"longer than 256 KiB"}},
		"deep":      {strings.Repeat("[", 1000), []string{"nested more than"}},
		"dashes":    {strings.Repeat("- ", 1000), []string{"nested more than"}},
		"time":      {"agents: {a: {}}\nbudget: {time: 0s, tokens: 1.5}", []string{"2:28 budget.tokens: 1.5 is no whole number"}},
		"done":      {"agents: {done: {}}\nworkflows: {r: {route: {choices: [done]}}}", []string{"has a meaning of its own"}},
		"too long": {"budget:\n  time: 99999999999h\nmcp: {m: {command: [x], timeout: 9999999h}}\nagents: {a: {}}\nworkflows:\n  w: {budget: {of: a, time: 99999999999h}}\n", []string{
			"2:9 budget.time: 99999999999h is longer than", "3:34 mcp.m.timeout: 9999999h is longer", "6:29 workflows.w.budget.time: 99999999999h is longer",
		}},
		"too short": {"agents: {a: {}}\nbudget: {time: 0s}", []string{"2:16 budget.time: 0s is no time for anything"}},
		"tiny cost": {"agents: {a: {}}\nbudget: {cost: 0.0000000001}\nworkflows: {w: {budget: {of: a, cost: 0.0000000009}}}", []string{
			"2:16 budget.cost: 0.0000000001 is less than 0.000000001", "3:39 workflows.w.budget.cost: 0.0000000009 is less",
		}},
		"numbers": {"agents: {a: {}}\nbudget:\n  tokens: 1e300\n  calls: 99999999999999999999\n  tool_calls: 1e400\n", []string{"5:15 budget.tool_calls: 1e400 is no number that can be used"}},
		"large": {"agents: {a: {}}\nbudget:\n  tokens: 1e300\n  calls: 99999999999999999999\n  tool_calls: '5'\n", []string{
			"3:11 budget.tokens: 1e+300 is more than 1000000000000", "4:10 budget.calls: 100000000000000000000 is more than", "5:15 budget.tool_calls: it must be a number, and is a text",
		}},
		"no text":   {"agents: {a: {prompt: 1e5}}", []string{"1:22 agents.a.prompt: it must be a text, and is a number (in quotes it is a text)"}},
		"workflows": {"agents: {a: {}}\nworkflows: {w: {sequence: [a], compress: {}}}", []string{"only one of sequence, compress (make a workflow of its own of each)"}},
		"servers":   {"agents: {a: {}}\nmcp: {m: {command: [x], url: 'http://x'}}", []string{"2:11 mcp.m: it can have only one of command, url (leave out all but one)"}},
		"until":     {"agents: {a: {}}\nworkflows: {l: {loop: {of: a, max_rounds: 1, until: {contains: x, matches: y}}}}", []string{"only one of contains, matches (leave out all but one)"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := flowfile.Parse("f.yaml", []byte(test.text))
			var problems flowfile.Problems
			if !errors.As(err, &problems) {
				t.Fatalf("error %v", err)
			}
			for _, want := range test.want {
				found := false
				for _, p := range problems {
					hint := ""
					if p.Hint != "" {
						hint = " (" + p.Hint + ")"
					}
					found = found || strings.Contains(fmt.Sprintf("%d:%d %s: %s%s", p.Line, p.Column, p.Path, p.Message, hint), want)
				}
				if !found {
					t.Errorf("no %q in\n%v", want, err)
				}
			}
		})
	}
}

// An editor's mark at the beginning is none of the file's text, and a number with an exponent
// is one.
func TestMarkAndExponent(t *testing.T) {
	f, err := flowfile.Parse("f.yaml", []byte("\ufeffagents: {a: {}}\nbudget: {tokens: 1e6, calls: 2.5e1, cost: 1e-9}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.BudgetText(); got != "1000000 tokens, $0.000000, 25 calls of models" {
		t.Error(got)
	}
}

// A few lines must not become a tree that nobody can walk.
func TestBombs(t *testing.T) {
	var doubled, aliased strings.Builder
	doubled.WriteString("agents: {w0: {}}\nworkflows:\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&doubled, "  w%d: {sequence: [w%d, w%d]}\n", i, i-1, i-1)
	}
	aliased.WriteString("x0: &a0 [1,1]\n")
	for i := 1; i < 40; i++ {
		fmt.Fprintf(&aliased, "x%d: &a%d [*a%d,*a%d]\n", i, i, i-1, i-1)
	}
	for _, text := range []string{doubled.String(), aliased.String()} {
		if _, err := flowfile.Parse("f.yaml", []byte(text)); err == nil {
			t.Error("it was taken")
		}
	}
}

func TestPublishedSchema(t *testing.T) {
	published, err := os.ReadFile("../../docs/flow.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(flowfile.Schema), string(published)); diff != "" {
		t.Errorf("docs/flow.schema.json is not what is used:\n%s", diff)
	}
	if !json.Valid(published) {
		t.Error("it is no JSON")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(every)
	f.Add("agents: {a: &x {}, b: *x}")
	f.Add("agents:\n  a: |\n   text\n - [")
	f.Add("? {a: b}\n: - - 0x1F\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := flowfile.Parse("f.yaml", []byte(text))
		if err != nil {
			if !errors.As(err, new(flowfile.Problems)) {
				t.Fatalf("error %v", err)
			}
			return
		}
		p, err := file.Build(&stage{})
		if err != nil {
			t.Fatal(err)
		}
		if err := flow.Check(p); err != nil {
			t.Fatalf("a good file makes a bad workflow: %v", err)
		}
		flow.Fingerprint(p)
	})
}

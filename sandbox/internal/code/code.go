// Package code runs program texts with the interpreters of a sandbox, for drivers whose
// sandboxes have programs and files but no kernels.
package code

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
)

// Host is the sandbox that a program text runs in.
type Host interface {
	// FindProgram returns an error that is [driver.ErrUnsupported] if there is no such
	// program.
	FindProgram(name string) error
	Exec(context.Context, driver.Command) (driver.Result, error)
	Write(ctx context.Context, name string, data []byte) error
	Remove(ctx context.Context, name string) error
}

// interpreter runs a program text. The program finds its standard input empty: an
// interpreter that reads it from there line by line would hand the rest to the program,
// and node hands a stream that has ended before the program can listen.
type interpreter struct {
	names   []string // of the language
	program string
	inline  []string // before a text that is an argument; nil: it never is
	stdin   []string // for a text on standard input, read whole before it runs; nil: a file
}

var interpreters = []interpreter{
	{[]string{"python", "python3", "py"}, "python3", nil, []string{"-c", pythonRunner}},
	{[]string{"bash", "sh"}, "bash", []string{"-c"}, []string{"-c", `eval -- "$(cat)"`}},
	{[]string{"node", "javascript", "js"}, "node", []string{"--eval"}, []string{"-"}},
	{[]string{"go", "golang"}, "go", nil, nil},
}

//go:embed runner.py
var pythonRunner string

// textMark names the variable with the tag that the value of a program's last
// expression is wrapped in, amid what the program puts out.
const textMark = "RATH_TEXT_MARK"

// Programs are the interpreters that a sandbox may have.
func Programs() []string {
	names := make([]string, len(interpreters))
	for i, in := range interpreters {
		names[i] = in.program
	}
	return names
}

// Language returns the name that a language goes by in [Languages]; empty is python. One
// that is not known keeps its name.
func Language(name string) string {
	if name == "" {
		return interpreters[0].names[0]
	}
	for _, in := range interpreters {
		if in.is(name) {
			return in.names[0]
		}
	}
	return name
}

// Languages returns what the sandbox has an interpreter for.
func Languages(h Host) []string {
	var found []string
	for _, in := range interpreters {
		if h.FindProgram(in.program) == nil {
			found = append(found, in.names[0])
		}
	}
	return found
}

// Run runs a program text.
func Run(ctx context.Context, h Host, c driver.Code) (driver.CodeResult, error) {
	in, err := find(h, c.Language)
	if err != nil {
		return driver.CodeResult{}, err
	}
	mark := uuid.NewString()
	cmd := driver.Command{
		Args: []string{in.program}, Timeout: c.Timeout, MaxOutput: c.MaxOutput,
		Env: []string{textMark + "=" + mark},
	}
	switch {
	case in.inline != nil && canBeArgument(c.Source):
		cmd.Args = append(append(cmd.Args, in.inline...), c.Source)
	case in.stdin != nil:
		cmd.Args, cmd.Stdin = append(cmd.Args, in.stdin...), strings.NewReader(c.Source)
	default:
		file := "rath-" + mark + ".go" // go run skips names that begin with a dot
		if err := h.Write(ctx, file, []byte(c.Source)); err != nil {
			return driver.CodeResult{}, err
		}
		defer func() { _ = h.Remove(context.WithoutCancel(ctx), file) }()
		cmd.Args = append(cmd.Args, "run", file)
	}
	r, err := h.Exec(ctx, cmd)
	return result(r, mark, c), err
}

// maxArgument is a length that every system takes, Windows with all of it escaped too.
const maxArgument = 15 << 10

// canBeArgument reports whether a text arrives as it is, and is not taken for an option.
func canBeArgument(source string) bool {
	return len(source) <= maxArgument && !strings.HasPrefix(source, "-") && !strings.Contains(source, "\x00")
}

func (in interpreter) is(language string) bool {
	for _, name := range in.names {
		if strings.EqualFold(name, language) {
			return true
		}
	}
	return false
}

func find(h Host, language string) (interpreter, error) {
	language = Language(language)
	for _, in := range interpreters {
		if in.is(language) {
			return in, h.FindProgram(in.program)
		}
	}
	return interpreter{}, fmt.Errorf("%w: the languages here are %s", driver.ErrUnsupported, strings.Join(Languages(h), ", "))
}

func result(r driver.Result, mark string, c driver.Code) driver.CodeResult {
	out := driver.CodeResult{Stdout: r.Stdout, Stderr: r.Stderr, ExitCode: r.ExitCode, Elapsed: r.Elapsed}
	out.Stdout, out.Text = cutText(r.Stdout, "<"+mark+">", "</"+mark+">")
	switch {
	case r.TimedOut:
		out.Error = TimedOut(c)
	case r.ExitCode != 0:
		out.Error = lastLine(r.Stderr)
		if out.Error == "" {
			out.Error = fmt.Sprintf("exit code %d", r.ExitCode)
		}
	}
	return out
}

// TimedOut says that a program text was stopped.
func TimedOut(c driver.Code) string {
	return fmt.Sprintf("it took longer than %v and was stopped", c.Timeout)
}

// cutText takes the value of the last expression out of the output, which can go on
// behind it. Where too much output has cost one of the tags, there is no telling.
func cutText(output, open, end string) (rest, text string) {
	before, inner, _ := strings.Cut(output, open)
	text, after, ok := strings.Cut(inner, end)
	if !ok {
		return strings.NewReplacer(open, "", end, "").Replace(output), ""
	}
	return before + after, text
}

// lastLine is where interpreters say what went wrong.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

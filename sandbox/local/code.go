package local

import (
	"context"
	_ "embed"
	"fmt"
	"os/exec"
	"strings"

	"github.com/google/uuid"
	"github.com/openrath-go/rath/sandbox/driver"
)

// interpreter runs a program text that it reads from standard input.
type interpreter struct {
	names   []string // of the language
	program string
	args    []string
}

var interpreters = []interpreter{
	{[]string{"python", "python3", "py"}, "python3", []string{"-c", pythonRunner}},
	{[]string{"bash", "sh"}, "bash", []string{"-s"}},
	{[]string{"node", "javascript", "js"}, "node", []string{"-"}},
	{[]string{"go", "golang"}, "go", nil},
}

//go:embed runner.py
var pythonRunner string

// textMark separates what the program put out from the value of its last expression.
const textMark = "RATH_TEXT_MARK"

func languages() []string {
	var found []string
	for _, in := range interpreters {
		if _, err := exec.LookPath(in.program); err == nil {
			found = append(found, in.names[0])
		}
	}
	return found
}

func (b *box) RunCode(ctx context.Context, c driver.Code) (driver.CodeResult, error) {
	in, err := find(c.Language)
	if err != nil {
		return driver.CodeResult{}, err
	}
	mark := uuid.NewString()
	cmd := driver.Command{
		Args:  append([]string{in.program}, in.args...),
		Stdin: strings.NewReader(c.Source), Timeout: c.Timeout, MaxOutput: c.MaxOutput,
		Env: []string{textMark + "=" + mark},
	}
	if in.args == nil {
		file := "rath-" + mark + ".go" // go run skips names that begin with a dot
		if err := b.Write(ctx, file, []byte(c.Source)); err != nil {
			return driver.CodeResult{}, err
		}
		defer func() { _ = b.Remove(context.WithoutCancel(ctx), file) }()
		cmd.Args, cmd.Stdin = []string{in.program, "run", file}, nil
	}
	r, err := b.Exec(ctx, cmd)
	return codeResult(r, mark, c), err
}

func find(language string) (interpreter, error) {
	if language == "" {
		language = "python"
	}
	for _, in := range interpreters {
		for _, name := range in.names {
			if !strings.EqualFold(name, language) {
				continue
			}
			if _, err := exec.LookPath(in.program); err != nil {
				return in, fmt.Errorf("%w: there is no program %q here", driver.ErrUnsupported, in.program)
			}
			return in, nil
		}
	}
	return interpreter{}, fmt.Errorf("%w: the languages here are %s", driver.ErrUnsupported, strings.Join(languages(), ", "))
}

func codeResult(r driver.Result, mark string, c driver.Code) driver.CodeResult {
	out := driver.CodeResult{Stdout: r.Stdout, Stderr: r.Stderr, ExitCode: r.ExitCode, Elapsed: r.Elapsed}
	if before, text, ok := strings.Cut(r.Stdout, mark); ok {
		out.Stdout, out.Text = before, text
	}
	switch {
	case r.TimedOut:
		out.Error = fmt.Sprintf("it took longer than %v and was stopped", c.Timeout)
	case r.ExitCode != 0:
		out.Error = lastLine(r.Stderr)
		if out.Error == "" {
			out.Error = fmt.Sprintf("exit code %d", r.ExitCode)
		}
	}
	return out
}

// lastLine is where interpreters say what went wrong.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/tool"
)

// Commands and code end after these, unless the call says otherwise; their streams are
// cut at outputLimit bytes each.
const (
	shellTimeout = 10 * time.Minute
	codeTimeout  = time.Minute
	outputLimit  = 20_000
)

type shellInput struct {
	Cmd string `json:"cmd" jsonschema:"the line for the shell"`
}

type shellOutput struct {
	ExitCode  int    `json:"exit_code"`
	Stdout    string `json:"stdout"`
	Stderr    string `json:"stderr"`
	ElapsedMS int64  `json:"elapsed_ms"`
}

// Shell returns run_shell_command.
func Shell() *tool.Tool {
	t := tool.New("run_shell_command", "Run a line in a shell in the workspace. A command that fails is told by its exit_code.", shell)
	t.Locks = everything
	return t
}

func shell(ctx context.Context, in shellInput) (shellOutput, error) {
	sb, err := tool.SandboxOf(ctx)
	if err != nil {
		return shellOutput{}, err
	}
	if in.Cmd == "" {
		return shellOutput{}, &tool.Failure{Kind: tool.KindInvalidArguments, Message: "cmd is empty"}
	}
	r, err := sb.Exec(ctx, sandbox.Command{Shell: in.Cmd, Timeout: shellTimeout, MaxOutput: outputLimit})
	if err == nil && r.TimedOut {
		err = timedOut(shellTimeout, r.Stdout, r.Stderr)
	}
	return shellOutput{r.ExitCode, r.Stdout, r.Stderr, r.Elapsed.Milliseconds()}, failure(err)
}

func timedOut(limit time.Duration, stdout, stderr string) error {
	return &tool.Failure{
		Kind:    tool.KindTimeout,
		Message: fmt.Sprintf("it took longer than %v and was stopped", limit),
		Detail:  stdout + stderr,
	}
}

type codeInput struct {
	Code     string  `json:"code" jsonschema:"the program text"`
	Language string  `json:"language,omitempty" jsonschema:"python (the default), bash, node or go"`
	Timeout  float64 `json:"timeout,omitempty" jsonschema:"seconds, at most 600; 60 if omitted"`
}

type codeOutput struct {
	Text   string  `json:"text"`
	Stdout string  `json:"stdout"`
	Stderr string  `json:"stderr"`
	Error  *string `json:"error"`
}

// RunCode returns run_code.
func RunCode() *tool.Tool {
	t := tool.New("run_code", "Run a program text in the workspace. In python, text is the value of a last expression.", runCode)
	t.Locks = everything
	return t
}

func runCode(ctx context.Context, in codeInput) (codeOutput, error) {
	sb, err := tool.SandboxOf(ctx)
	if err != nil {
		return codeOutput{}, err
	}
	timeout := codeTimeout
	if in.Timeout > 0 {
		timeout = max(time.Duration(min(in.Timeout, shellTimeout.Seconds())*float64(time.Second)), time.Millisecond) // 0 would be none
	}
	r, err := sb.RunCode(ctx, sandbox.Code{Language: in.Language, Source: in.Code, Timeout: timeout, MaxOutput: outputLimit})
	out := codeOutput{Text: r.Text, Stdout: r.Stdout, Stderr: r.Stderr}
	if r.Error != "" {
		out.Error = &r.Error
	}
	return out, failure(err)
}

// everything is held by what may touch any file.
func everything(context.Context, json.RawMessage) ([]tool.Lock, error) {
	return []tool.Lock{tool.Everything()}, nil
}

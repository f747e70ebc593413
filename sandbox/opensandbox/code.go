package opensandbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/code"
	"github.com/openrath-go/rath/sandbox/internal/output"
)

// kernelTime bounds the question whether the daemon has kernels: one that has lost them
// tries for minutes.
const kernelTime = 10 * time.Second

const python = "python"

// hasKernels asks the daemon to run nothing in python. A daemon without kernels refuses at
// once, which it does not if it is asked for a context.
func (b *box) hasKernels(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, kernelTime)
	defer cancel()
	last, err := b.execd.RunCode(ctx, "", python, "None", func(Event) {})
	return err == nil && last.Error == nil
}

func (b *box) languages() []string {
	found := code.Languages(b)
	if b.kernels && !slices.Contains(found, python) {
		found = append([]string{python}, found...)
	}
	return found
}

// FindProgram makes it a [code.Host].
func (b *box) FindProgram(name string) error {
	if !b.has(name) {
		return fmt.Errorf("%w: there is no program %q in the sandbox", driver.ErrUnsupported, name)
	}
	return nil
}

// RunCode runs python in a context of its own where the daemon has kernels, and everything
// else with the sandbox's interpreters.
func (b *box) RunCode(ctx context.Context, c driver.Code) (driver.CodeResult, error) {
	if b.kernels && code.Language(c.Language) == python {
		r, err := b.runKernel(ctx, c)
		return r, b.explain(ctx, err)
	}
	return code.Run(ctx, b, c)
}

func (b *box) runKernel(ctx context.Context, c driver.Code) (driver.CodeResult, error) {
	begin := time.Now()
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
		defer cancel()
	}
	id, err := b.execd.CreateContext(ctx, python, b.root)
	if err != nil {
		return driver.CodeResult{}, err
	}
	defer b.dropKernel(ctx, id)
	stdout, stderr := output.NewCapped(c.MaxOutput), output.NewCapped(c.MaxOutput)
	var text []string
	last, err := b.execd.RunCode(ctx, id, python, c.Source, func(e Event) {
		switch e.Type {
		case "stdout":
			_, _ = stdout.Write([]byte(e.Text))
		case "stderr":
			_, _ = stderr.Write([]byte(e.Text))
		case "result":
			text = append(text, plainText(e.Results))
		}
	})
	r := driver.CodeResult{Text: strings.Join(text, "\n"), Stdout: stdout.String(), Stderr: stderr.String(), Elapsed: time.Since(begin)}
	switch {
	case context.Cause(ctx) == errTimeout:
		r.ExitCode, r.Error = -1, code.TimedOut(c)
		return r, nil
	case ctx.Err() != nil:
		return r, context.Cause(ctx)
	case err == nil && last.Error != nil:
		r.ExitCode, r.Error = 1, last.Error.Name+": "+last.Error.Value
	}
	return r, err
}

// dropKernel ends a context and what runs in it.
func (b *box) dropKernel(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTime)
	defer cancel()
	_ = b.execd.InterruptCode(ctx, id)
	_ = b.execd.DeleteContext(ctx, id)
}

// plainText is the value of the last expression, which the daemon renames.
func plainText(results map[string]any) string {
	for _, kind := range []string{"text", "text/plain"} {
		if text, ok := results[kind].(string); ok {
			return text
		}
	}
	return ""
}

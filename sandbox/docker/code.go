package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/code"
)

func (b *box) RunCode(ctx context.Context, c driver.Code) (driver.CodeResult, error) {
	return code.Run(ctx, b, c)
}

// FindProgram makes it a [code.Host].
func (b *box) FindProgram(name string) error {
	_, err := b.ask(context.Background(), "find_program", name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the container has no program %q", driver.ErrUnsupported, name)
	}
	return err
}

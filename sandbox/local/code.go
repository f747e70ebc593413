package local

import (
	"context"

	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/code"
)

func (b *box) languages() []string { return code.Languages(b) }

func (b *box) RunCode(ctx context.Context, c driver.Code) (driver.CodeResult, error) {
	return code.Run(ctx, b, c)
}

// FindProgram makes it a [code.Host].
func (b *box) FindProgram(name string) error {
	_, err := b.findProgram(name)
	return err
}

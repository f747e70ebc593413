//go:build unix

package mcptool

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/openrath-go/rath/effect"
)

func TestHints(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, test := range []struct {
		h    mcp.ToolAnnotations
		want effect.Class
	}{
		{mcp.ToolAnnotations{}, effect.Mutating},
		{mcp.ToolAnnotations{ReadOnlyHint: true}, effect.ReadOnly},
		{mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &no}, effect.ReadOnly},
		{mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: &yes}, effect.Mutating},
		{mcp.ToolAnnotations{DestructiveHint: &no}, effect.Mutating},                          // done twice it adds twice
		{mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: &yes}, effect.Idempotent}, // gone is gone
	} {
		if got := classOf(&test.h); got != test.want {
			t.Errorf("%+v is %v, not %v", test.h, got, test.want)
		}
	}
}

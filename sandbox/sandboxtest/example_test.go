package sandboxtest_test

import (
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/sandboxtest"
)

// The test of a driver of yours is this.
func ExampleRun() {
	_ = func(t *testing.T) {
		sandboxtest.Run(t, func(t *testing.T) *sandbox.Sandbox {
			sb, err := local.Open(t.Context(), t.TempDir(), nil) // yours
			if err != nil {
				t.Fatal(err)
			}
			return sb
		})
	}
}

//go:build race

package resource

import (
	"os/exec"
	"testing"
)

// The tests of PDF files run without the race detector: with it, the compiler of the machine
// takes half a minute for what is a second.
func TestPDF(t *testing.T) {
	if out, err := exec.Command("go", "test", "-count=1", "-run=PDF", ".").CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

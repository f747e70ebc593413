package memorytest_test

import (
	"testing"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/memorytest"
)

// open would open a new and empty store of yours.
func open(t *testing.T) driver.Store {
	t.Skip("there is none")
	return nil
}

// The test of a driver of yours is this.
func ExampleSuite() {
	_ = func(t *testing.T) { memorytest.Suite{Open: open}.Run(t) }
}

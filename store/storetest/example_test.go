package storetest_test

import (
	"path/filepath"
	"testing"

	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/openrath-go/rath/store/storetest"
)

// The test of a store of yours is this.
func ExampleRun() {
	_ = func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store {
			st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "rath.db"), nil) // yours
			if err != nil {
				t.Fatal(err)
			}
			return st
		})
	}
}

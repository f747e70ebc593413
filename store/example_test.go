package store_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/sqlite"
)

// A session is kept with all that it comes from.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	st, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer st.Close()

	fork := session.FromUser("Name a color.").Fork()
	if err := st.PutSessions(ctx, fork); err != nil {
		log.Fatal(err)
	}
	read, err := st.Session(ctx, fork.ID())
	fmt.Println(read.Text(), read.Digest() == fork.Digest(), err)
	for h, err := range st.Heads(ctx, store.SessionFilter{}) {
		fmt.Println(h.Lineage.Op, h.Len, err)
	}
	// Unordered output:
	// Name a color. true <nil>
	// fork 1 <nil>
	// leaf 1 <nil>
}

package sqlite_test

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

func Example() {
	dir, err := os.MkdirTemp("", "rath")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	s, err := sqlite.Open(ctx, filepath.Join(dir, "rath.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	asked := session.FromUser("What is a monad?")
	answered := asked.Fork().Append(session.Assistant([]session.Part{session.Text("A monoid in the category of endofunctors.")}))
	if err := s.PutSessions(ctx, answered); err != nil { // its ancestors too
		log.Fatal(err)
	}
	for h, err := range s.Heads(ctx, store.SessionFilter{DescendantsOf: []session.ID{asked.ID()}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(h.Lineage.Op, h.Len)
	}
	again, err := s.Session(ctx, answered.ID())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Text())
	// Output:
	// leaf 1
	// fork 1
	// append 2
	// A monoid in the category of endofunctors.
}

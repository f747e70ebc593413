package memory_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
)

// An agent is told what its memory knows of a message. What a note says is quoted.
func ExampleStore_Tell() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "memory")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	m, err := local.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	if _, err := m.Remember(ctx, "The deploy day is Tuesday.", nil); err != nil {
		log.Fatal(err)
	}
	told, err := m.Tell(ctx, session.FromUser("When do we deploy?"), memory.Injection{})
	fmt.Println(len(told.Chunks), "chunks,", told.Hits[0].Snippet, err)
	// Output: 2 chunks, The deploy day is Tuesday. <nil>
}

package local_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openrath-go/rath/memory"
	"github.com/openrath-go/rath/memory/local"
)

func Example() {
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
	for _, city := range []string{"Lives in Berlin.", "Lives in Paris."} {
		if _, err := m.Remember(ctx, city, &memory.RememberOptions{About: "user.city"}); err != nil {
			log.Fatal(err)
		}
	}
	for _, ended := range []bool{false, true} {
		found, err := m.Recall(ctx, "where does the user live? lives", &memory.RecallOptions{Ended: ended})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(found.Hits), found.Hits[0].Snippet)
	}
	// Output:
	// 1 Lives in Paris.
	// 2 Lives in Paris.
}

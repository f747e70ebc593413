package openviking_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
)

func Example() {
	server, err := contract.New(&contract.Options{APIKey: "a-key-for-the-example", User: "alice"}) // yours is elsewhere
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	ctx := context.Background()
	notes, err := openviking.Open(ctx, server.URL(), &openviking.Options{APIKey: "a-key-for-the-example", Wait: true})
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()
	if _, err := notes.Remember(ctx, "Prefers green tea.", nil); err != nil {
		log.Fatal(err)
	}
	found, err := notes.Recall(ctx, "which tea?", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(found.Hits[0].Snippet)
	// Output: Prefers green tea.
}

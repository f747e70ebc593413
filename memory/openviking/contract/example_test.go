package contract_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
)

// A test sees what a client makes of a server that is overloaded.
func ExampleServer_Inject() {
	server, err := contract.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	notes, err := openviking.Open(ctx, server.URL(), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer notes.Close()

	server.Inject(contract.Fault{Path: "/search", Status: 403, Body: "{}"})
	_, err = notes.Recall(ctx, "tea", nil)
	fmt.Println(err != nil)
	server.Heal()
	_, err = notes.Recall(ctx, "tea", nil)
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

//go:build unix

package contract_test

import (
	"context"
	"fmt"
	"log"

	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

// A test sees what becomes of a sandbox whose time is up.
func ExampleServer_Expire() {
	server, err := contract.New(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	ctx := context.Background()
	sb, err := opensandbox.Open(ctx, &opensandbox.Options{URL: server.URL(), Image: "python:3.13"})
	if err != nil {
		log.Fatal(err)
	}
	defer sb.Close()
	fmt.Println(sb.WriteFile(ctx, "note.txt", []byte("here")))
	server.Expire(server.IDs()[0])
	_, err = sb.ReadFile(ctx, "note.txt")
	fmt.Println(err != nil)
	// Output:
	// <nil>
	// true
}

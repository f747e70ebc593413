//go:build unix

package opensandbox_test

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
)

func ExampleOpen() {
	server, err := contract.New(nil) // in its place a real one, at "http://localhost:8080"
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	ctx := context.Background()
	sb, err := opensandbox.Open(ctx, &opensandbox.Options{URL: server.URL(), Image: "python:3.13"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	r, err := sb.Exec(ctx, sandbox.Command{Shell: "echo hello >greeting; cat greeting"})
	fmt.Print(r.Stdout, err)
	_, err = sb.ReadFile(ctx, "../secret")
	fmt.Println("\n" + err.Error())
	// Output:
	// hello
	// <nil>
	// read ../secret: the path leaves the workspace
}

// Sandboxes that a killed program has left are found by their labels.
func ExampleClient() {
	server, err := contract.New(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	client, err := opensandbox.NewClient(server.URL(), "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := context.Background()
	found, err := client.List(ctx, opensandbox.Marked())
	for _, info := range found {
		if info.Orphaned() {
			err = client.Delete(ctx, info.ID)
		}
	}
	fmt.Println(len(found), err)
	// Output: 0 <nil>
}

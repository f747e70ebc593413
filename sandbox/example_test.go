package sandbox_test

import (
	"context"
	"fmt"
	"os"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/local"
)

func ExampleStream() {
	ctx := context.Background()
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	sb, err := local.Open(ctx, dir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()

	st := sandbox.NewStream(ctx, sb) // operations run in order, while we go on
	defer st.Close()
	st.WriteFile("a.txt", []byte("hello"))
	length := st.Exec(sandbox.Command{Shell: "wc -c <a.txt | tr -d ' '"})
	r, err := length.Wait(ctx)
	fmt.Print(r.Stdout, err)
	// Output:
	// 5
	// <nil>
}

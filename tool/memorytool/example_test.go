package memorytool_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/tool"
	"github.com/openrath-go/rath/tool/memorytool"
)

func ExampleNew() {
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

	d := tool.Dispatch{Tools: memorytool.New(m, nil)}
	for _, call := range []session.Call{
		{ID: "1", Name: "remember", Arguments: `{"text":"The deploy day is Tuesday."}`},
		{ID: "2", Name: "recall", Arguments: `{"query":"deploy day"}`},
	} {
		done, err := d.Run(ctx, session.FromUser("When do we deploy?"), []session.Call{call})
		fmt.Println(call.Name, done[0].Chunk.Answer().Outcome, err)
	}
	// Output:
	// remember ok <nil>
	// recall ok <nil>
}

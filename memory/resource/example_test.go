package resource_test

import (
	"context"
	"fmt"

	"github.com/openrath-go/rath/memory/resource"
)

func ExampleParse() {
	text := "# Manual\n\nIt makes waffles.\n\n## Cleaning\n\nUnplug the iron. Wait until it is cold. Then use a soft brush.\n"
	doc, err := resource.Parse(context.Background(), "manual.md", "", []byte(text), &resource.Options{PieceTokens: 16, Overlap: -1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(doc.Title)
	for _, p := range doc.Pieces {
		fmt.Printf("line %d, %s: %q\n", p.Line, p.Context, p.Text)
	}
	// Output:
	// Manual
	// line 1, Manual: "# Manual\n\nIt makes waffles."
	// line 5, Manual > Cleaning: "## Cleaning\n\nUnplug the iron. Wait until it is cold."
	// line 7, Manual > Cleaning: "Then use a soft brush."
}

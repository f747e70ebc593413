package anthropic_test

import (
	"fmt"

	"github.com/openrath-go/rath/llm"
	"github.com/openrath-go/rath/llm/anthropic"
)

func ExampleOpen() {
	m, err := anthropic.Open("claude-opus", &anthropic.Options{APIKey: "sk-ant-..."})
	fmt.Println(&llm.Retry{Model: m}, err)
	// Output: anthropic:claude-opus <nil>
}

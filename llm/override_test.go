package llm_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/openrath-go/rath/llm"
)

func TestOverride(t *testing.T) {
	own, outer, inner := playing{name: "own:"}, playing{name: "outer:"}, playing{name: "inner:"}
	ctx := llm.WithModel(t.Context(), outer)
	within := llm.WithModel(ctx, inner)
	for _, test := range []struct {
		name string
		ctx  context.Context
		own  llm.Model
		want string
	}{
		{"none", t.Context(), own, "own:"},
		{"one", ctx, own, "outer:"},
		{"the innermost", within, own, "inner:"},
		{"taken back", llm.WithModel(within, nil), own, "own:"},
		{"where there is none of one's own", ctx, nil, "outer:"},
	} {
		if got := llm.Override(test.ctx, test.own); got.String() != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	if m := llm.Override(t.Context(), nil); m != nil {
		t.Errorf("out of nothing came %v", m)
	}
}

func ExampleWithModel() {
	ctx := llm.WithModel(context.Background(), playing{name: "openai:small"})
	fmt.Println(llm.Override(ctx, playing{name: "openai:large"}))
	// Output: openai:small
}

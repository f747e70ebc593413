package registry_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/sandbox/local"
	"github.com/openrath-go/rath/sandbox/registry"
)

func Example() {
	home, _ := os.MkdirTemp("", "home")
	defer os.RemoveAll(home)
	r := registry.New(filepath.Join(home, "sandboxes"))
	if _, err := r.Add(registry.Entry{Name: "desk", Backend: "local"}); err != nil {
		fmt.Println(err)
		return
	}

	// Another program, another day.
	e, err := r.Find("desk")
	if err != nil {
		fmt.Println(err)
		return
	}
	sb, err := local.Open(context.Background(), e.Spec.WorkingDir, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer sb.Close()
	fmt.Println(e.Name, sb.Placement().Backend)
	// Output: desk local
}

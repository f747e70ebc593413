// Build writes what package tutorial makes into the module's folder.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openrath-go/rath/internal/tutorial"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: build FOLDER")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(root string) error {
	files, err := tutorial.Make(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("write the tutorial: %w", err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the tutorial: %w", err)
		}
	}
	return nil
}

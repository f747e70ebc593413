package cli

import (
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/openrath-go/rath/session"
)

// maxImage is more than any provider takes.
const maxImage = 20 << 20

// images reads the files that a message shows.
func images(files []string) (parts []session.Part, err error) {
	for _, name := range files {
		info, err := os.Stat(name)
		if err == nil && info.Size() > maxImage {
			return nil, usage(&hinted{fmt.Errorf("--image %s: it has %d bytes", name, info.Size()), fmt.Sprintf("models take %d MiB at most: make it smaller", maxImage>>20)})
		}
		if err != nil {
			return nil, usage(fmt.Errorf("--image: %w", err))
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, usage(fmt.Errorf("--image: %w", err))
		}
		mime := http.DetectContentType(data)
		if !strings.HasPrefix(mime, "image/") {
			return nil, usage(&hinted{fmt.Errorf("--image %s: it is no image but %s", name, mime), "models take PNG, JPEG, GIF and WebP"})
		}
		parts = append(parts, session.Image(mime, data))
	}
	return parts, nil
}

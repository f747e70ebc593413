package cli

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"

	"github.com/openrath-go/rath/session"
)

// maxImage is more than any provider takes.
const maxImage = 20 << 20

// imageKinds are what models take, with what reads the beginning of one: a provider refuses
// a session for good that holds an image that is none. The standard library knows no WebP.
var imageKinds = map[string]func(io.Reader) (image.Config, error){
	"image/png": png.DecodeConfig, "image/jpeg": jpeg.DecodeConfig, "image/gif": gif.DecodeConfig,
	"image/webp": func(io.Reader) (image.Config, error) { return image.Config{}, nil },
}

// images reads the files that a message shows.
func images(files []string) (parts []session.Part, err error) {
	for _, name := range files {
		data, err := readImage(name)
		if err != nil {
			return nil, err
		}
		mime := http.DetectContentType(data)
		begins, known := imageKinds[mime]
		if !known {
			return nil, usage(&hinted{fmt.Errorf("--image %s: it is %s", name, mime), "models take PNG, JPEG, GIF and WebP"})
		}
		if _, err := begins(bytes.NewReader(data)); err != nil {
			return nil, usage(&hinted{fmt.Errorf("--image %s: it is damaged: %w", name, err), "models take PNG, JPEG, GIF and WebP"})
		}
		parts = append(parts, session.Image(mime, data))
	}
	return parts, nil
}

var errNoFile = errors.New("it is no regular file")

// readImage reads a file that has an end, and no more of it than anybody takes.
func readImage(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && !info.Mode().IsRegular() {
		return nil, usage(&hinted{fmt.Errorf("--image %s: %w", name, errNoFile), "write the image into a file first"})
	}
	var data []byte
	if err == nil {
		data, err = readBounded(name, maxImage+1)
	}
	if err != nil {
		return nil, usage(&hinted{fmt.Errorf("--image: %w", err), "name a file of an image: PNG, JPEG, GIF or WebP"})
	}
	if len(data) > maxImage {
		return nil, usage(&hinted{fmt.Errorf("--image %s: it has %d bytes", name, max(info.Size(), int64(len(data)))), fmt.Sprintf("models take %d MiB at most: make it smaller", maxImage>>20)})
	}
	return data, nil
}

package cli

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is no image that models take is refused before it is in a session, and what has no
// end is not read.
func TestImages(t *testing.T) {
	var whole bytes.Buffer
	if err := png.Encode(&whole, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for _, test := range []struct{ file, want string }{
		{write("a.bmp", "BM"+strings.Repeat("\x00", 60)), "image/bmp"},
		{write("a.ico", "\x00\x00\x01\x00"+strings.Repeat("\x00", 60)), "image/x-icon"},
		{write("a.png", whole.String()[:8]), "damaged"},
		{write("a.gif", "GIF89a"), "damaged"},
		{write("a.jpg", "\xff\xd8\xff\xe0"), "damaged"},
		{write("big.png", whole.String()+strings.Repeat("\x00", maxImage)), "bytes"},
		{dir, errNoFile.Error()},
	} {
		if _, err := images([]string{test.file}); err == nil || !strings.Contains(err.Error(), test.want) || hintOf(err) == "" {
			t.Errorf("%s: %v", test.file, err)
		}
	}
	parts, err := images([]string{write("b.png", whole.String())})
	if err != nil || len(parts) != 1 || parts[0].MIME != "image/png" {
		t.Errorf("%+v %v", parts, err)
	}
}

package session

import (
	"os"
	"strings"
	"testing"
)

// The vectors of docs/formats/digest.md hold.
func TestDocumentedVectors(t *testing.T) {
	page, err := os.ReadFile("../docs/formats/digest.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```\n")
	block, _, _ := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if len(lines) < 8 {
		t.Fatalf("only %d lines of vectors", len(lines))
	}
	var transcript Transcript
	for i := 0; i+1 < len(lines); i += 2 {
		var c Chunk
		if err := c.UnmarshalJSON([]byte(lines[i])); err != nil {
			t.Fatal(err)
		}
		if canonical := string(c.canonical()); canonical != lines[i] {
			t.Errorf("vector %d is not canonical: %s", i/2, canonical)
		}
		transcript = transcript.Append(c)
		if d := transcript.Digest().String(); d != lines[i+1] {
			t.Errorf("vector %d: the digest is %s, the page says %s", i/2, d, lines[i+1])
		}
	}
}

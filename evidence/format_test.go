package evidence_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/store"
)

// The vectors of docs/formats/events.md hold.
func TestDocumentedVectors(t *testing.T) {
	page, err := os.ReadFile("../docs/formats/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```\n")
	block, _, _ := strings.Cut(rest, "```")
	lines := strings.Split(strings.TrimSpace(block), "\n")
	if len(lines) != 12 {
		t.Fatalf("%d lines of vectors", len(lines))
	}
	var head store.Head
	for i := 0; i < len(lines); i += 3 {
		var seq, micros int64
		var kind string
		if _, err := fmt.Sscan(lines[i], &seq, &micros, &kind); err != nil {
			t.Fatal(err)
		}
		e, err := head.Next(kind, time.UnixMicro(micros), json.RawMessage(lines[i+1]))
		if err != nil || e.Seq != seq || string(e.Body) != lines[i+1] || e.Hash.String() != lines[i+2] {
			t.Errorf("event %d: %+v, %v; the page says %s", seq, e, err, lines[i+2])
		}
		head = e.Head()
	}
}

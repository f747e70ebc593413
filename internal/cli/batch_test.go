package cli

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
)

func TestBarText(t *testing.T) {
	u := session.Usage{Input: 1000, Output: 234}
	for _, test := range []struct {
		p    flow.Progress
		want string
	}{
		{flow.Progress{}, strings.Repeat("░", 24) + " 0 of 40 · 0 at work · 1234 tokens"},
		{flow.Progress{Begun: 14, Ended: 10}, strings.Repeat("█", 6) + strings.Repeat("░", 18) + " 10 of 40 · 4 at work · 1234 tokens · 2.0/s · 15s left"},
		{flow.Progress{Begun: 40, Ended: 40, Failed: 3}, strings.Repeat("█", 24) + " 40 of 40, 3 failed · 0 at work · 1234 tokens · 8.0/s · 0s left"},
	} {
		if got := barText(test.p, 40, 5*time.Second, u); got != test.want {
			t.Errorf("%+v: %q, want %q", test.p, got, test.want)
		}
	}
}

func TestBatchError(t *testing.T) {
	first := errors.New("first")
	if err := (&batchError{1, 2, first, nil}); errors.Is(err, first) {
		t.Error("one failure of two is that of the batch")
	}
	if err := (&batchError{2, 2, first, nil}); !errors.Is(err, first) {
		t.Error("what failed is not in the error of a batch that failed altogether")
	}
}

// Whatever the file, an item has an id of its own, its line, and something to say.
func FuzzParseBatch(f *testing.F) {
	for _, seed := range []string{
		"\"one\"\n\n{\"id\":2,\"prompt\":\"two\"}", "{\"session\":\"@\"}\r\n\"x\"", "\ufeff\"one\"", `{"prompt":""}`, `{"promt":1}`, "[", "\"\\ud800\"",
		`{"id":"3","prompt":"x","meta":{"a":[1]}}` + "\n\n\"y\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		items, err := parseBatch(strings.NewReader(string(data)), "file", nil)
		var bad *lineError
		if err != nil && (len(items) > 0 || exitCode(err) != exitUsage) {
			t.Fatalf("%d items come with %v", len(items), err)
		}
		if errors.As(err, &bad) && (bad.line < 1 || bad.line > strings.Count(string(data), "\n")+1) {
			t.Fatalf("%v is at a line that there is not", err)
		}
		seen, line := map[string]bool{}, 0
		for _, item := range items {
			if seen[item.ID] || item.ID == "" || item.Line <= line || strings.TrimSpace(item.Prompt) == "" && item.Session == "" {
				t.Fatalf("%+v", item)
			}
			seen[item.ID], line = true, item.Line
			text, err := json.Marshal(item)
			if err != nil {
				t.Fatal(err)
			}
			chunk := session.User(session.Text(string(text)))
			if back, err := itemOf(chunk); err != nil || back.ID != item.ID || back.Prompt != item.Prompt {
				t.Fatalf("%+v came back as %+v, %v", item, back, err)
			}
		}
	})
}

package llmtest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares a whole loop with a txtar file: each request as the server got it, and
// the session that came of it. With -update it writes the file.
func Golden(t *testing.T, file string, requests []*Request, out session.Session) {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte("A whole loop: what was asked, and the session that came of it. Rewrite with -update.\n")}
	for i, r := range requests {
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("request%d %s", i+1, r.Path), Data: indent(t, r.Body)})
	}
	var transcript bytes.Buffer
	for _, c := range out.All() {
		line, err := c.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		transcript.Write(append(line, '\n'))
	}
	archive.Files = append(archive.Files,
		txtar.File{Name: "session", Data: transcript.Bytes()},
		txtar.File{Name: "usage", Data: []byte(fmt.Sprintf("%+v\n", out.Usage()))})
	got := txtar.Format(archive)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("read the golden file (-update makes it): %v", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("the loop differs from %s (-update accepts it):\n%s", file, diff)
	}
}

func indent(t *testing.T, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(body), "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), '\n')
}

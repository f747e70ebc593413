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
	compare(t, file, archive)
}

// GoldenVectors compares requests for embeddings with a txtar file: each as the server
// got it, and the vectors that came of them, one a line. With -update it writes the file.
func GoldenVectors(t *testing.T, file string, requests []*Request, vectors [][]float32) {
	t.Helper()
	archive := &txtar.Archive{Comment: []byte("What was asked, and the vectors that came of it. Rewrite with -update.\n")}
	for i, r := range requests {
		archive.Files = append(archive.Files, txtar.File{Name: fmt.Sprintf("request%d %s", i+1, r.Path), Data: indent(t, r.Body)})
	}
	var lines bytes.Buffer
	for _, v := range vectors {
		line, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	archive.Files = append(archive.Files, txtar.File{Name: "vectors", Data: lines.Bytes()})
	compare(t, file, archive)
}

// compare compares an archive with the golden file, or writes that with -update.
func compare(t *testing.T, file string, archive *txtar.Archive) {
	t.Helper()
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
		t.Errorf("it differs from %s (-update accepts it):\n%s", file, diff)
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

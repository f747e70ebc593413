package graph

import (
	"bytes"
	"io"
	"testing"
)

var writers = []struct {
	file  string
	write func(*Graph, io.Writer, *Options) error
}{
	{"txt", (*Graph).WriteText},
	{"dot", (*Graph).WriteDOT},
	{"mmd", (*Graph).WriteMermaid},
	{"svg", (*Graph).WriteSVG},
	{"json", (*Graph).WriteJSON},
	{"jsonl", (*Graph).WriteOpenRath},
}

func written(t testing.TB, g *Graph, write func(*Graph, io.Writer, *Options) error, opts *Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(g, &b, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	whole := build(t, review()...)
	for _, test := range []struct {
		name string
		g    *Graph
		opts *Options
	}{
		{"review", whole, &Options{Mark: id(14 << 8)}},
		{"filtered", whole.Filter(Filter{Path: "review"}), nil},
		{"wide", build(t, fan(9)...), nil},
		{"empty", new(Graph), nil},
	} {
		for _, w := range writers {
			t.Run(test.name+"/"+w.file, func(t *testing.T) {
				golden(t, test.name+"."+w.file, written(t, test.g, w.write, test.opts))
			})
		}
	}
}

// Command pdftext writes the text of the PDF file on its standard input: the title in one
// line, then its pages, each after a form feed.
//
// It is built for WebAssembly and runs in a machine of its own, because the library that it
// uses can be made to take all memory and to recurse for ever: see pdf.go, two folders up.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/ledongthuc/pdf"
)

func main() {
	// The machine has 256 MiB and one short task: garbage is collected when that is short.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(160 << 20)
	out := bufio.NewWriter(os.Stdout)
	err := extract(os.Stdin, out)
	if err := errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func extract(in io.Reader, out *bufio.Writer) error {
	data, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	data = mend(data)
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, strings.Join(strings.Fields(title(r)), " "))
	t := &text{out: out, fonts: map[string]*font{}}
	return walk(r.Trailer().Key("Root").Key("Pages"), pdf.Value{}, 0, func(page, resources pdf.Value) {
		out.WriteByte('\f')
		t.page(page.Key("Contents"), resources)
	})
}

// mend makes a file what the library takes: version 2 differs in nothing that text needs,
// and what comes after the end does not count.
func mend(data []byte) []byte {
	if at := bytes.Index(data[:min(len(data), 1024)], []byte("%PDF-")); at > 0 {
		data = data[at:]
	}
	if end := bytes.LastIndex(data, []byte("%%EOF")); end >= 0 {
		data = append(data[:end:end], "%%EOF\n"...)
	}
	if len(data) > 9 {
		copy(data[5:8], "1.7")
		if data[8] != '\r' {
			data[8] = '\n'
		}
	}
	return data
}

func title(r *pdf.Reader) (title string) {
	defer func() {
		if recover() != nil {
			title = ""
		}
	}()
	return r.Trailer().Key("Info").Key("Title").Text()
}

// walk visits the pages below a node in order, with the resources that they inherit. The
// library's own way looks for each page from the first on.
func walk(node, resources pdf.Value, depth int, visit func(page, resources pdf.Value)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read the pages: %v", r)
		}
	}()
	if depth > 50 {
		return errors.New("the pages are nested too deeply")
	}
	if r := node.Key("Resources"); r.Kind() == pdf.Dict {
		resources = r
	}
	kids := node.Key("Kids")
	if node.Key("Type").Name() == "Page" || kids.Kind() != pdf.Array {
		visit(node, resources)
		return nil
	}
	for i := range kids.Len() {
		if err := walk(kids.Index(i), resources, depth+1, visit); err != nil {
			return err
		}
	}
	return nil
}

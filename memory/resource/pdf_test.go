//go:build !race

package resource

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/openrath-go/rath/memory/driver"
)

func TestPDF(t *testing.T) {
	data, err := os.ReadFile("testdata/manual.pdf")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := Parse(t.Context(), "manual.pdf", "", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Piece{
		{Context: "page 1", Text: "Installation\n\nThe office in Berlin is closed on Fridays, and efficient waffles are served.\n\n" +
			"Linux\n\nRun the command and wait for it to finish. It prints a version."},
		{Context: "page 2", Text: "The second page tells how to clean the iron."},
	}
	if diff := cmp.Diff(want, doc.Pieces); diff != "" || doc.Title != "Waffle iron manual" || doc.MIME != "application/pdf" {
		t.Errorf("%+v\n%s", doc, diff)
	}
}

// writePDF writes a file of objects, the first of which is the root, with the stream that
// is the content of its page.
func writePDF(content string, objects ...string) []byte {
	all := append([]string{
		"<</Type/Catalog/Pages 2 0 R>>",
		"<</Type/Pages/Count 1/Kids[3 0 R]/Resources<</Font<</F 5 0 R>>>>>>",
		"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
		content,
	}, objects...)
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	var offsets []int
	for i, o := range all {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(all)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(all)+1, at)
	return b.Bytes()
}

func stream(dict, data string) string {
	return fmt.Sprintf("<<%s/Length %d>>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflate(text string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	z.Close()
	return b.String()
}

const helvetica = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>"

func TestPDFText(t *testing.T) {
	for _, test := range []struct{ name, content, want string }{
		{"lines", "BT /F 10 Tf 0 700 Td (one) Tj 0 -12 Td (two) Tj ET", "one\ntwo"},
		{"paragraphs", "BT /F 10 Tf 0 700 Td (one) Tj 0 -40 Td (two) Tj ET", "one\n\ntwo"},
		{"kerning", "BT /F 10 Tf [(w) 20 (ord) -300 (next)] TJ ET", "word next"},
		{"quote", "BT /F 10 Tf 12 TL (one) Tj (two) ' ET", "one\ntwo"},
		{"latin", "BT /F 10 Tf (caf\xe9) Tj ET", "café"},
		{"hyphen", "BT /F 10 Tf 12 TL (retrie-) Tj (val) ' ET", "retrieval"},
		{"positions", "q 1 0 0 1 0 700 cm BT /F 10 Tf (one) Tj ET Q q 1 0 0 1 0 688 cm BT /F 10 Tf (two) Tj ET Q", "one\ntwo"},
		{"broken after", "BT /F 10 Tf (one) Tj ET >> ] /F (", "one"},
	} {
		doc, err := Parse(t.Context(), "x.pdf", "", writePDF(stream("", test.content), helvetica), nil)
		if err != nil || len(doc.Pieces) != 1 || doc.Pieces[0].Text != test.want {
			t.Errorf("%s: %+v %v", test.name, doc.Pieces, err)
		}
	}
}

// One machine reads several files at once.
func TestPDFAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			text := fmt.Sprintf("number %d", i)
			doc, err := Parse(t.Context(), "x.pdf", "", writePDF(stream("", "BT /F 10 Tf ("+text+") Tj ET"), helvetica), nil)
			if err != nil || doc.Pieces[0].Text != text {
				t.Errorf("%+v %v", doc, err)
			}
		})
	}
	all.Wait()
}

// hostile are files that take a process with them if they are read in it: by memory that
// cannot be had, by a stack that overflows, or by never coming to an end.
func hostile() map[string][]byte {
	xref := func(dict, data string) []byte {
		head := "%PDF-1.7\n"
		return []byte(head + "1 0 obj\n" + stream(dict, data) + fmt.Sprintf("\nendobj\nstartxref\n%d\n%%%%EOF\n", len(head)))
	}
	loop := "%PDF-1.7\n" + "xref\n0 1\n0000000000 65535 f \ntrailer\n<</Size 1/Prev 9>>\n" + strings.Repeat("% padding\n", 20) + "startxref\n9\n%%EOF\n"
	cmap := "1 begincodespacerange <00> <ff> endcodespacerange 99999999999 beginbfchar endbfchar"
	return map[string][]byte{
		"a table of a terabyte":   xref("/Type/XRef/Size 20000000000/W[1 2 1]/Root 1 0 R", "\x01\x00\x09\x00"),
		"an entry far away":       xref("/Type/XRef/Size 1/Index[9000000000 1]/W[1 2 1]", "\x01\x00\x09\x00"),
		"wide columns":            xref("/Type/XRef/Size 1/W[1 2 1]/Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 900000000000>>", deflate("x")),
		"a stream in itself":      xref("/Type/XRef/Size 3/W[1 1 1]/Root 2 0 R/Index[0 3]", "\x00\x00\x00\x01\x09\x00\x02\x02\x00"),
		"an endless chain":        []byte(loop),
		"characters without end":  writePDF(stream("", "BT /F 10 Tf (one) Tj ET"), "<</Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R>>", stream("", cmap)),
		"a bomb":                  writePDF(stream("/Filter/FlateDecode", deflate("BT /F 10 Tf "+strings.Repeat("(one two three) Tj ", 3_000_000))), helvetica),
		"pages in themselves":     writePDF(stream("", ""), "<<>>", "<</Type/Pages/Kids[2 0 R]>>"),
		"a form in itself":        writePDF(stream("", "/X Do"), helvetica),
		"nothing but a beginning": []byte("%PDF-1.7\n"),
		"nothing":                 []byte("%PDF-"),
	}
}

func TestHostilePDF(t *testing.T) {
	for name, data := range hostile() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := Parse(ctx, "x.pdf", "", data, nil)
			if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), "x.pdf") {
				t.Errorf("%v", err)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Log(err)
		})
	}
}

// A file with any bytes changed is read or refused, and the next is read as ever.
func TestBrokenPDF(t *testing.T) {
	good := writePDF(stream("", "BT /F 10 Tf (one) Tj ET"), helvetica)
	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		data := bytes.Clone(good)
		for range 1 + random.IntN(8) {
			data[9+random.IntN(len(data)-9)] = byte(random.IntN(256))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, _ = Parse(ctx, "x.pdf", "", data[:random.IntN(len(data))+1], nil)
		_, _ = Parse(ctx, "x.pdf", "", data, nil)
		cancel()
	}
	if doc, err := Parse(t.Context(), "x.pdf", "", good, nil); err != nil || doc.Pieces[0].Text != "one" {
		t.Errorf("%+v %v", doc, err)
	}
}

// The program in the machine is the one in the source. Another compiler makes other bytes.
func TestPDFProgramIsBuiltFromSource(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a program")
	}
	z, err := gzip.NewReader(bytes.NewReader(pdftext))
	if err != nil {
		t.Fatal(err)
	}
	if code, err := io.ReadAll(z); err != nil || !bytes.Contains(code, []byte(runtime.Version())) {
		t.Skip("it was built by another compiler", err)
	}
	made := filepath.Join(t.TempDir(), "made")
	if out, err := exec.Command("go", "run", "./internal/pdftext/build", made).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got, err := os.ReadFile(made); err != nil || !bytes.Equal(got, pdftext) {
		t.Error("pdftext.wasm.gz is not what go generate makes of internal/pdftext", err)
	}
}

// FuzzPDF is about the machine: whatever a file does in it, the process goes on.
func FuzzPDF(f *testing.F) {
	for _, name := range []string{"an entry far away", "wide columns", "pages in themselves", "nothing but a beginning"} {
		f.Add(hostile()[name], uint8(20))
	}
	fuzz(f, "x.pdf", string(writePDF(stream("", "BT /F 10 Tf (one) Tj ET"), helvetica)))
}

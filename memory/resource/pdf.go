package resource

import (
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/openrath-go/rath/memory/driver"
)

// No library in Go reads every broken PDF file without taking all memory or overflowing the
// stack, which nothing can recover from. So the one that is used runs as WebAssembly, where
// memory and time have limits and nothing else can be reached.
//
//go:generate go run ./internal/pdftext/build pdftext.wasm.gz
//go:embed pdftext.wasm.gz
var pdftext []byte

const (
	pdfTime   = 30 * time.Second // that the reading of a file may take
	pdfMemory = 256 << 20        // the same
	pdfText   = 16 << 20         // the longest text of a file
	wasmPage  = 64 << 10
)

// machine is what runs pdftext. It is made once for the process, when it is first needed,
// because it takes a second.
type machine struct {
	runtime wazero.Runtime
	program wazero.CompiledModule
}

var pdfMachine = sync.OnceValues(newMachine)

func newMachine() (*machine, error) {
	z, err := gzip.NewReader(bytes.NewReader(pdftext))
	if err != nil {
		return nil, err
	}
	code, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	limits := wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemory / wasmPage).WithCloseOnContextDone(true)
	m := &machine{runtime: wazero.NewRuntimeWithConfig(ctx, limits)}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return nil, err
	}
	m.program, err = m.runtime.CompileModule(ctx, code)
	return m, err
}

// readPDF makes the paragraphs of pages blocks.
func readPDF(ctx context.Context, name string, data []byte) (title string, blocks []block, err error) {
	m, err := pdfMachine()
	if err != nil {
		return "", nil, fmt.Errorf("read %s: start the reader of PDF files: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, pdfTime)
	defer cancel()
	text, err := m.run(ctx, data)
	if err != nil {
		return "", nil, failed(driver.ErrUnsupported, "read %s as PDF: %w", name, err)
	}
	title, blocks = readPages(text)
	if len(blocks) == 0 {
		return title, nil, failed(driver.ErrUnsupported, "read %s as PDF: there is no text in it; its pages may be pictures", name)
	}
	return title, blocks, nil
}

func (m *machine) run(ctx context.Context, data []byte) (string, error) {
	out, said := &bounded{limit: pdfText}, &bounded{limit: 1000}
	module, err := m.runtime.InstantiateModule(ctx, m.program,
		wazero.NewModuleConfig().WithName("").WithStdin(bytes.NewReader(data)).WithStdout(out).WithStderr(said))
	if module != nil {
		_ = module.Close(ctx)
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case out.full:
		return "", fmt.Errorf("its text is longer than %d bytes", pdfText)
	case err != nil && said.text.Len() > 0:
		first, _, _ := strings.Cut(said.text.String(), "\n")
		return "", errors.New(first)
	}
	return out.text.String(), err
}

// bounded takes a text up to a limit.
type bounded struct {
	text  strings.Builder
	limit int
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.text.Len()+len(p) > b.limit {
		b.full = true
		return 0, errors.New("the text is too long")
	}
	return b.text.Write(p)
}

var (
	hyphen    = regexp.MustCompile(`(\p{Ll})-\n(\p{Ll})`)
	ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st", "\u00ad", "", "\x00", "")
)

// readPages reads what pdftext writes. Words that a line's end has cut are joined.
func readPages(text string) (title string, blocks []block) {
	pages := strings.Split(strings.ToValidUTF8(text, "\ufffd"), "\f")
	for i, page := range pages[1:] {
		page = hyphen.ReplaceAllString(ligatures.Replace(page), "$1$2")
		for _, b := range readText(page + "\n\n") {
			b.context, b.line = []string{fmt.Sprintf("page %d", i+1)}, 0
			blocks = append(blocks, b)
		}
	}
	kept := blocks[:0]
	for _, b := range blocks {
		if strings.TrimSpace(b.text) != "" {
			kept = append(kept, b)
		}
	}
	return short(pages[0]), kept
}

package resource

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/openrath-go/rath/memory/driver"
)

// kind is how a document is read.
type kind uint8

const (
	kindText kind = iota
	kindMarkdown
	kindHTML
	kindPDF
	kindCode
	kindData  // lines that belong together: JSON, YAML
	kindTable // lines under a first one: CSV
)

// extensions are the kinds of files by the ends of their names.
var extensions = map[string]struct {
	kind kind
	mime string
}{
	".md": {kindMarkdown, "text/markdown"}, ".markdown": {kindMarkdown, "text/markdown"}, ".mdx": {kindMarkdown, "text/markdown"},
	".html": {kindHTML, "text/html"}, ".htm": {kindHTML, "text/html"}, ".xhtml": {kindHTML, "text/html"},
	".pdf": {kindPDF, "application/pdf"},
	".csv": {kindTable, "text/csv"}, ".tsv": {kindTable, "text/tab-separated-values"},
	".json": {kindData, "application/json"}, ".jsonl": {kindData, "application/jsonl"}, ".xml": {kindData, "application/xml"},
	".yaml": {kindData, "application/yaml"}, ".yml": {kindData, "application/yaml"}, ".toml": {kindData, "application/toml"},
	".ini": {kindData, "text/plain"}, ".cfg": {kindData, "text/plain"}, ".conf": {kindData, "text/plain"}, ".log": {kindData, "text/plain"},
}

// sources are the ends of the names of source code.
const sources = " .go .py .pyi .js .mjs .cjs .jsx .ts .mts .tsx .java .kt .kts .scala .c .h .cc .cpp .cxx .hpp .hh .m .mm .cs .fs .rs" +
	" .rb .php .pl .pm .lua .swift .dart .r .jl .ex .exs .erl .hs .ml .mli .clj .lisp .el .scm .sh .bash .zsh .fish .ps1 .sql .proto" +
	" .css .scss .less .vue .svelte .zig .nim .d .v .sol .tf .gradle .groovy .cmake .mk "

// media are the kinds of what a server calls by name.
var media = map[string]kind{
	"text/markdown": kindMarkdown, "text/x-markdown": kindMarkdown,
	"text/html": kindHTML, "application/xhtml+xml": kindHTML, "application/pdf": kindPDF,
	"text/csv": kindTable, "text/tab-separated-values": kindTable,
	"application/json": kindData, "application/jsonl": kindData, "application/x-ndjson": kindData, "application/yaml": kindData,
	"application/x-yaml": kindData, "text/yaml": kindData, "application/toml": kindData, "text/xml": kindData, "application/xml": kindData,
	"text/javascript": kindCode, "application/javascript": kindCode, "text/css": kindCode,
}

// kindOf finds out what a document is. What its bytes say counts most, then what its server
// says, unless that is next to nothing, then its name.
func kindOf(name, declared string, data []byte) (kind, string, error) {
	sniffed, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	switch {
	case bytes.HasPrefix(data, []byte("%PDF-")):
		return kindPDF, "application/pdf", nil
	case !strings.HasPrefix(sniffed, "text/") && sniffed != "application/octet-stream" && !isText(data):
		return 0, sniffed, failed(driver.ErrUnsupported, "read %s: it is %s, which has no text to read", name, sniffed)
	}
	told, params, _ := mime.ParseMediaType(declared)
	if told == "text/plain" || told == "application/octet-stream" {
		told = ""
	}
	with := func(m string) string { return mime.FormatMediaType(m, params) }
	if k, ok := media[told]; ok && k != kindPDF {
		return k, with(told), nil
	}
	ext := strings.ToLower(path.Ext(base(name)))
	if e, ok := extensions[ext]; ok && e.kind != kindPDF {
		return e.kind, with(e.mime), nil
	}
	switch {
	case ext != "" && strings.Contains(sources, " "+ext+" "):
		return kindCode, with("text/plain"), nil
	case told == "" && sniffed == "text/html":
		return kindHTML, with(sniffed), nil
	case told != "" && !strings.HasPrefix(told, "text/"):
		return 0, told, failed(driver.ErrUnsupported, "read %s: documents of the type %s are not known", name, told)
	}
	return kindText, with("text/plain"), nil
}

// base is a name without folders; of an address, without its query.
func base(name string) string {
	if u, err := url.Parse(name); err == nil && IsURL(name) {
		name = u.Path
	}
	return path.Base(name)
}

// decode makes a document UTF-8 with lines that end in "\n".
func decode(name, mimeType string, data []byte) (string, error) {
	text := ""
	switch {
	case utf16By(data) != "":
		text = transcode(utf16By(data), data)
	case utf8.Valid(data):
		text = string(bytes.TrimPrefix(data, []byte("\ufeff")))
	default:
		_, encoding, _ := charset.DetermineEncoding(data, mimeType)
		if encoding == "utf-8" {
			encoding = "windows-1252"
		}
		text = transcode(encoding, data)
	}
	if isBinary(text) {
		return "", failed(driver.ErrUnsupported, "read %s: it is binary", name)
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text), nil
}

func transcode(encoding string, data []byte) string {
	e, _ := charset.Lookup(encoding)
	if e == nil {
		return string(data)
	}
	text, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return string(data)
	}
	return strings.TrimPrefix(string(text), "\ufeff")
}

// utf16By names the UTF-16 that a text is in, or nothing. Without a mark at its beginning,
// it is known by the zeros that most of its letters have, in every other byte.
func utf16By(data []byte) string {
	switch {
	case len(data) < 2 || len(data)%2 != 0:
		return ""
	case data[0] == 0xfe && data[1] == 0xff:
		return "utf-16be"
	case data[0] == 0xff && data[1] == 0xfe:
		return "utf-16le"
	}
	head := data[:min(len(data), 1024)&^1]
	var zeros [2]int
	for i, c := range head {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch half := len(head) / 2; {
	case zeros[0] > half/2 && zeros[1] == 0:
		return "utf-16be"
	case zeros[1] > half/2 && zeros[0] == 0:
		return "utf-16le"
	}
	return ""
}

// isText: some signatures are words, so that "BM25" would be a picture.
func isText(data []byte) bool { return utf8.Valid(data) && !isBinary(string(data)) }

// isBinary reports whether a text has what none has: a zero, or many control characters.
func isBinary(text string) bool {
	runes, controls := 0, 0
	for _, r := range text {
		runes++
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\f\v\b\x1b", r):
			controls++
		}
	}
	return controls*20 > runes
}

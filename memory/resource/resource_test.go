package resource

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/openrath-go/rath/memory/driver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t *testing.T, name, mime, text string) Document {
	t.Helper()
	doc, err := Parse(t.Context(), name, mime, []byte(text), &Options{PieceTokens: 40, Overlap: -1})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	if doc.Name != name || doc.SHA256 != hex.EncodeToString(sum[:]) {
		t.Errorf("%+v", doc)
	}
	return doc
}

func TestMarkdown(t *testing.T) {
	text := "---\ntitle: \"The manual\"\n---\n# Install\n\nIt runs everywhere, on all machines that have electricity and some time to spend.\n\n" +
		"Linux\n-----\nUse the package. " + strings.Repeat("It is in the archive. ", 4) + "\n\n```sh\n# not a heading\n\napt install\n```\n\n" +
		"### Arch ###\nIt is in AUR.\n"
	doc := parse(t, "a/README.md", "", text)
	want := []Piece{
		{Context: "Install", Line: 4, Text: "# Install\n\nIt runs everywhere, on all machines that have electricity and some time to spend."},
		{Context: "Install > Linux", Line: 8, Text: "Linux\n-----\nUse the package. " + strings.Repeat("It is in the archive. ", 4) +
			"\n\n```sh\n# not a heading\n\napt install\n```"},
		{Context: "Install > Linux > Arch", Line: 18, Text: "### Arch ###\nIt is in AUR."},
	}
	if diff := cmp.Diff(want, doc.Pieces); diff != "" || doc.Title != "The manual" || doc.MIME != "text/markdown" {
		t.Errorf("%q %q\n%s", doc.Title, doc.MIME, diff)
	}
}

func TestHTML(t *testing.T) {
	doc := parse(t, "https://example.com/x?y", "text/html; charset=utf-8", `<!doctype html><html><head><title> The
  manual</title><style>p{}</style><script>alert("no")</script></head><body><nav>Home</nav><main><h1>Install</h1><p>It <b>runs</b>
everywhere&nbsp;&amp; on <a href=x>all</a>.<p hidden>secret<ul><li>one<li>two</ul><h2>Linux</h2><pre>  apt
    install</pre><table><tr><th>a<th>b<tr><td>1</td><td>2</td></table></main><footer>Imprint</footer></body>`)
	want := []Piece{{Context: "Install", Text: "Install\n\nIt runs everywhere & on all.\n\n- one\n- two"},
		{Context: "Install > Linux", Text: "Linux\n\n  apt\n    install\n\na | b\n1 | 2"}}
	if diff := cmp.Diff(want, doc.Pieces); diff != "" || doc.Title != "The manual" || doc.MIME != "text/html" {
		t.Errorf("%q %q\n%s", doc.Title, doc.MIME, diff)
	}
}

// A page that the parser takes very long for is given up.
func TestSlowHTML(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Parse(ctx, "x.html", "", []byte(strings.Repeat("<td>a", 2<<20)), nil)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "x.html") {
		t.Errorf("%v", err)
	}
}

func TestCode(t *testing.T) {
	body := strings.Repeat("\tfmt.Println(\"a line of it\")\n", 4)
	text := "package p\n\n// Put keeps.\nfunc (s *Store) Put(n Note) error {\n" + body + "}\n\n// Get finds.\nfunc (s *Store) Get() (Note, error) {\n" + body + "}\n"
	py := "import os\n\nclass Store(Base):\n    \"\"\"Keeps.\"\"\"\n\n    def put(self, n):\n" + strings.Repeat("        print('a line of it, too')\n", 4)
	c := "static int\tput(struct store *s,\n\tint n)\n{\n\tif (n) return put(s, 0);\n}\n"
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"store/put.go", text, []string{"store/put.go", "store/put.go > func (s *Store) Put(n Note) error", "store/put.go > func (s *Store) Get() (Note, error)"}},
		{"store.py", py, []string{"store.py", "store.py > class Store(Base) > def put(self, n)"}},
		{"put.c", c, []string{"put.c > static int put(struct store *s,"}},
	} {
		var got []string
		for _, p := range parse(t, test.name, "", test.text).Pieces {
			got = append(got, p.Context)
		}
		if diff := cmp.Diff(test.want, slices.Compact(got)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
	}
}

func TestTableAndData(t *testing.T) {
	table := parse(t, "a.csv", "", "name,city\n"+strings.Repeat("ada,london\n", 30))
	for _, p := range table.Pieces {
		if p.Context != "name,city" || !strings.HasSuffix(p.Text, "london") {
			t.Errorf("%+v", p)
		}
	}
	for _, p := range parse(t, "a.json", "", "[\n"+strings.Repeat("  {\"a\": 1},\n", 50)+"]").Pieces {
		if end := p.Text[len(p.Text)-1]; end != ',' && end != ']' {
			t.Errorf("a line is cut: %+v", p)
		}
	}
}

func wide(order binary.ByteOrder, text string) string {
	var b bytes.Buffer
	_ = binary.Write(&b, order, utf16.Encode([]rune(text)))
	return b.String()
}

func TestEncodings(t *testing.T) {
	for _, test := range []struct{ name, mime, data, want string }{
		{"bom", "", "\ufeffcafé", "café"},
		{"utf-16le with a mark", "", wide(binary.LittleEndian, "\ufeffcafé 内存"), "café 内存"},
		{"utf-16be with a mark", "", wide(binary.BigEndian, "\ufeffcafé 内存"), "café 内存"},
		{"utf-16le", "", wide(binary.LittleEndian, "plain words"), "plain words"},
		{"utf-16be", "", wide(binary.BigEndian, "plain words"), "plain words"},
		{"latin-1", "", "caf\xe9 cr\xe8me", "café crème"},
		{"declared", "text/plain; charset=koi8-r", "\xd0\xd2\xc9\xd7\xc5\xd4", "привет"},
		{"gbk", "text/plain; charset=gbk", "\xc4\xda\xb4\xe6", "内存"},
		{"lines", "", "a\r\nb\rc", "a\nb\nc"},
		{"a signature that is a word", "", "BM25 ranks words", "BM25 ranks words"},
		{"empty", "", "", ""},
	} {
		var got strings.Builder
		for _, p := range parse(t, test.name, test.mime, test.data).Pieces {
			got.WriteString(p.Text)
		}
		if got.String() != test.want {
			t.Errorf("%s: %q, want %q", test.name, got.String(), test.want)
		}
	}
}

func TestBinaryIsRefused(t *testing.T) {
	for name, data := range map[string]string{
		"x.png":  "\x89PNG\x0d\x0a\x1a\x0a\x00\x00",
		"x.zip":  "PK\x03\x04\x00\x00",
		"x.md":   "some words\x00and a zero",
		"x":      "\x7fELF\x02\x01\x01\x00\x00",
		"x.txt":  strings.Repeat("\x01\x02\x03\x04", 50),
		"x.docx": "PK\x03\x04\x14\x00\x06\x00",
	} {
		_, err := Parse(t.Context(), name, "", []byte(data), nil)
		if !errors.Is(err, driver.ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Parse(t.Context(), "x", "application/x-unknown", []byte("words"), nil); !errors.Is(err, driver.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

// tree writes files; a name with "->" is a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name, to, isLink := strings.Cut(name, "->")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if isLink {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFolder(t *testing.T) {
	dir := tree(t, map[string]string{
		"b.md": "# B\n", "a/c.txt": "c", "a.txt": "a", "a/bin.dat": "\x00\x01\x02", "long.txt": strings.Repeat("x", 200),
		".git/config": "no", ".env": "SECRET", "node_modules/x.js": "no", "a/vendor/y.go": "no", "out/z.txt": "no",
		"link.txt->/etc/passwd": "", "up->..": "", "etc->/etc": "",
		".gitignore": "*.log\n/gen/\n!keep.log\n", "x.log": "no", "keep.log": "kept", "gen/x.txt": "no", "a/gen/x.txt": "g",
		"a/.gitignore": "deep/**/*.txt\n", "a/deep/er/x.txt": "no",
	})
	var got, skipped []string
	var last Progress
	o := &Options{MaxFile: 100, Progress: func(p Progress) { last = p }, Ignore: func(name string, isDir bool) bool { return isDir && name == "out" }}
	for doc, err := range Load(t.Context(), dir, o) {
		if IsSkipped(err) {
			skipped = append(skipped, err.Error())
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, doc.Name+": "+doc.Pieces[0].Text)
	}
	if diff := cmp.Diff([]string{"a/c.txt: c", "a/gen/x.txt: g", "a.txt: a", "b.md: # B", "keep.log: kept"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"skip a/bin.dat: read a/bin.dat: it is binary", "skip long.txt: read long.txt: it is longer than 100 bytes"}, skipped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Progress{Name: "long.txt", Files: 7, Total: 7, Bytes: 14, Skipped: 2}, last); diff != "" {
		t.Error(diff)
	}
}

func TestFolderStops(t *testing.T) {
	files := map[string]string{}
	for i := range 20 {
		files[fmt.Sprintf("%02d.txt", i)] = "x"
	}
	dir := tree(t, files)
	for doc, err := range Load(t.Context(), dir, &Options{MaxFiles: 19}) {
		if !errors.Is(err, driver.ErrInvalid) || IsSkipped(err) || doc.Name != "" {
			t.Errorf("%+v %v", doc, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range Load(ctx, dir, nil) {
		if n++; n == 3 {
			cancel()
		}
		last = err
	}
	if n != 4 || !errors.Is(last, context.Canceled) || IsSkipped(last) {
		t.Errorf("%d documents, then %v", n, last)
	}
	for range Load(t.Context(), dir, nil) {
		break
	}
}

func TestFile(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# A\n", "long": strings.Repeat("x", 200)})
	for doc, err := range Load(t.Context(), filepath.Join(dir, "a.md"), nil) {
		if err != nil || doc.Title != "A" {
			t.Errorf("%+v %v", doc, err)
		}
	}
	for name, kind := range map[string]error{"none": driver.ErrNotFound, "long": driver.ErrInvalid} {
		for _, err := range Load(t.Context(), filepath.Join(dir, name), &Options{MaxFile: 100}) {
			if !errors.Is(err, kind) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if _, err := os.Stat("/dev/null"); err == nil {
		for _, err := range Load(t.Context(), "/dev/null", nil) {
			if !errors.Is(err, driver.ErrUnsupported) {
				t.Errorf("%v", err)
			}
		}
	}
}

// A .gitignore that would take forever is not followed, and what it may name is not read.
func TestFolderWithTooManyRules(t *testing.T) {
	dir := tree(t, map[string]string{
		"a.txt": "a", "many/x.txt": "no", "many/.gitignore": strings.Repeat("a\n", 500_000), "long/x.txt": "no", "long/.gitignore": strings.Repeat("*", 5000),
		"b/.gitignore": strings.Repeat("y\n", 1500), "b/x.txt": "b", "c/.gitignore": strings.Repeat("y\n", 1500), "c/x.txt": "c",
		"c/d/.gitignore": strings.Repeat("y\n", 1500), "c/d/x.txt": "no",
	})
	var got, skipped []string
	for doc, err := range Load(t.Context(), dir, nil) {
		if IsSkipped(err) {
			skipped = append(skipped, strings.Fields(err.Error())[1])
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, doc.Name)
	}
	if diff := cmp.Diff([]string{"a.txt", "b/x.txt", "c/x.txt"}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"c/d/.gitignore:", "long/.gitignore:", "many/.gitignore:"}, skipped); diff != "" {
		t.Error(diff)
	}
}

func TestShown(t *testing.T) {
	for name, want := range map[string]string{
		"a/b.md?x#y": "a/b.md?x#y", "https://h/a": "https://h/a", "https://me:pw@h:1/a?token=x#f": "https://h:1/a", "ftp://me@h/": "ftp://h/",
		"http://me:p?w@h:x/": "http://...", "http://h/%zz?token": "http://...", "HTTP://me@h": "http://h",
	} {
		if got := Shown(name); got != want {
			t.Errorf("%s is shown as %s, not %s", name, got, want)
		}
	}
}

package memory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// corpus is a set of texts, and queries with the texts that answer them.
type corpus struct {
	name    string
	texts   []string
	titles  []string // one for each text; it may be empty
	queries []query
}

type query struct {
	Text     string `json:"query"`
	Relevant []int  `json:"relevant"`
}

// debian reads the packages' descriptions that apt has on this machine: a short
// description is the query, its long description the one text that answers it. It takes at
// most n different ones.
func debian(t testing.TB, n int) corpus {
	files, _ := filepath.Glob("/var/lib/apt/lists/*Translation-en*")
	if len(files) == 0 {
		t.Skip("no descriptions of packages here: apt-get -o Acquire::Languages=en update")
	}
	c := corpus{name: "Debian packages"}
	queries, texts := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		// apt knows how it has packed the file.
		out, err := exec.Command("/usr/lib/apt/apt-helper", "cat-file", file).Output()
		if err != nil {
			t.Skipf("apt-helper cat-file %s: %v", file, err)
		}
		eachDescription(out, func(short, long string) {
			if len(c.texts) == n || short == "" || long == "" || queries[short] || texts[long] {
				return
			}
			queries[short], texts[long] = true, true
			c.queries = append(c.queries, query{short, []int{len(c.texts)}})
			c.texts, c.titles = append(c.texts, long), append(c.titles, "")
		})
	}
	return c
}

func eachDescription(data []byte, f func(short, long string)) {
	var short, long string
	in := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "Description-en: "):
			short, long, in = strings.TrimPrefix(line, "Description-en: "), "", true
		case in && line == " .":
			long += "\n"
		case in && strings.HasPrefix(line, " "):
			long += strings.TrimPrefix(line, " ") + "\n"
		case in:
			f(short, strings.TrimSpace(long))
			in = false
		}
	}
}

// fixture reads a corpus of testdata: lines of JSON, each a text or a query.
func fixture(t testing.TB, name, file string) corpus {
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	c := corpus{name: name}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var l struct {
			Text  string `json:"text"`
			Title string `json:"title"`
			query
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if l.query.Text != "" {
			c.queries = append(c.queries, l.query)
			continue
		}
		c.texts, c.titles = append(c.texts, l.Text), append(c.titles, l.Title)
	}
	return c
}

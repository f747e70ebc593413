package resource

import "strings"

// readText makes paragraphs blocks.
func readText(text string) (blocks []block) {
	var b strings.Builder
	first, at, gap := 1, 1, false
	flush := func() {
		if b.Len() > 0 {
			blocks = append(blocks, block{text: b.String(), line: first})
		}
		b.Reset()
		first = at
	}
	for l := range strings.SplitAfterSeq(text, "\n") {
		empty := strings.TrimSpace(l) == ""
		if gap && !empty {
			flush()
		}
		gap = empty
		b.WriteString(l)
		at++
	}
	flush()
	return blocks
}

// readLines makes lines the parts: data is cut nowhere else.
func readLines(text string) []block {
	return []block{{text: text, line: 1, code: true}}
}

// readTable is the same for rows, under the names of their columns.
func readTable(text string) []block {
	columns, _, _ := strings.Cut(text, "\n")
	return []block{{context: []string{short(columns)}, text: text, line: 1, code: true}}
}

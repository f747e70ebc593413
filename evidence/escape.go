package evidence

import (
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// escapes are those of JSON and of languages like it, those of URLs, and the colors of
// terminals. Letters in them stand right before what they precede, so that a word that
// begins there does not seem to.
var escapes = regexp.MustCompile(`\\(?:["'\\/bfnrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2})|%[0-9a-fA-F]{2}|\x1b\[[0-9;:?]*[A-Za-z]`)

// escape is one that was undone: where it ended, and where what it stands for ends.
type escape struct {
	end, plainEnd int
	empty         bool // it stands for nothing
}

// undone are the escapes of a text in their order.
type undone []escape

// unescape undoes the escapes of a text once.
func unescape(s string) (plain string, all undone) {
	var b strings.Builder
	end := 0
	for _, m := range escapes.FindAllStringIndex(s, -1) {
		b.WriteString(s[end:m[0]])
		c := unescaped(s[m[0]:m[1]])
		b.WriteString(c)
		end = m[1]
		all = append(all, escape{end, b.Len(), c == ""})
	}
	b.WriteString(s[end:])
	return b.String(), all
}

// unescaped is what one escape stands for.
func unescaped(s string) string {
	switch {
	case s[0] == '\x1b':
		return ""
	case s[0] == '%', s[1] == 'x':
		n, _ := strconv.ParseUint(s[len(s)-2:], 16, 8)
		return string([]byte{byte(n)})
	case s[1] == 'u':
		n, _ := strconv.ParseUint(s[2:], 16, 16)
		return string(rune(n))
	}
	if i := strings.IndexByte("bfnrt", s[1]); i >= 0 {
		return "\b\f\n\r\t"[i : i+1]
	}
	return s[1:]
}

// start returns where what starts at a place of the plain text starts with the escapes.
func (u undone) start(at int) int {
	return u.from(at, func(e escape) bool { return e.plainEnd > at })
}

// end returns where what ends at a place of the plain text ends with the escapes: before
// those that stand for nothing.
func (u undone) end(at int) int {
	return u.from(at, func(e escape) bool { return e.plainEnd > at || e.plainEnd == at && e.empty })
}

// from counts from the last escape that does not come after the place.
func (u undone) from(at int, after func(escape) bool) int {
	i := sort.Search(len(u), func(i int) bool { return after(u[i]) })
	if i == 0 {
		return at
	}
	return u[i-1].end + at - u[i-1].plainEnd
}

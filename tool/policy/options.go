package policy

import (
	"slices"
	"strings"
)

// options are those that a program has, as getopt takes them: the short ones in a word, then
// the long ones. A colon: with a value, attached or the next word; a semicolon: always the
// next word.
type options string

// option is one as it is given.
type option struct {
	name, value string
	open        bool // the next word is its value
}

// skip takes options away, and gives what they were with their values. Where one is not
// known, nobody can say where the rest begins: not ok.
func (o options) skip(args []string) (rest []string, given map[string]string, ok bool) {
	given = map[string]string{}
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		word := args[0]
		if args = args[1:]; word == "--" {
			break
		}
		found := o.read(word)
		if found == nil {
			return nil, nil, false
		}
		for _, f := range found {
			if f.open {
				if len(args) == 0 || strings.ContainsRune(args[0], unseen) {
					return nil, nil, false
				}
				f.value, args = args[0], args[1:]
			}
			given[f.name] = f.value
		}
	}
	return args, given, true
}

// read are the options in a word, nil if one of them is not known.
func (o options) read(word string) []option {
	short, long, _ := strings.Cut(string(o), " ")
	switch {
	case strings.ContainsRune(word, unseen): // it may be several words
		return nil
	case strings.HasPrefix(word, "--"):
		return readLong(strings.Fields(long), word[2:])
	}
	var all []option
	for i := 1; i < len(word); i++ {
		at, last := strings.IndexByte(short, word[i]), i == len(word)-1
		if at < 0 || word[i] == ':' || word[i] == ';' {
			return nil
		}
		found := option{name: word[i : i+1]}
		switch kind := short[at+1:]; {
		case strings.HasPrefix(kind, ":"):
			found.value, found.open = word[i+1:], last
			return append(all, found)
		case strings.HasPrefix(kind, ";") && !last:
			return nil
		case strings.HasPrefix(kind, ";"):
			found.open = true
		}
		all = append(all, found)
	}
	return all
}

func readLong(known []string, word string) []option {
	name, value, has := strings.Cut(word, "=")
	switch {
	case slices.Contains(known, name+":"):
		return []option{{name, value, !has}}
	case slices.Contains(known, name) && !has:
		return []option{{name: name}}
	}
	return nil
}

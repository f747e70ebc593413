package session

import (
	"fmt"
	"strings"
)

// PartKind says what a [Part] holds.
type PartKind uint8

// The kinds of part.
const (
	PartText PartKind = iota
	PartImage
	PartFile
	PartReasoning
)

var partKinds = [...]string{"text", "image", "file", "reasoning"}

// String returns the kind's name on the wire.
func (k PartKind) String() string { return name(partKinds[:], int(k)) }

// MarshalText implements [encoding.TextMarshaler].
func (k PartKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText refuses names it does not know.
func (k *PartKind) UnmarshalText(text []byte) error { return parse(k, partKinds[:], text, "part kind") }

// Part is one piece of a chunk's content. All its fields are strings, so that a
// copy shares nothing that can change; the zero Part is an empty text.
type Part struct {
	Kind PartKind
	Text string // the text, or what the model let be seen of its reasoning
	Name string // a file's name
	MIME string // the media type of Data
	URL  string // where an image or file is, when it is not in Data; where a text was taken from
	Data string // raw bytes, not base64
	// Extra is the provider's own JSON for this part (a thinking signature, say),
	// kept to the byte because it must be sent back unchanged.
	Extra string
}

// Text makes a text part.
func Text(text string) Part { return Part{Text: text} }

// Image makes a part of an image's bytes.
func Image(mime string, data []byte) Part {
	return Part{Kind: PartImage, MIME: mime, Data: string(data)}
}

// ImageURL makes a part that refers to an image by its address.
func ImageURL(url string) Part { return Part{Kind: PartImage, URL: url} }

// File makes a part of a named file's bytes.
func File(name, mime string, data []byte) Part {
	return Part{Kind: PartFile, Name: name, MIME: mime, Data: string(data)}
}

// Reasoning makes a part of a model's reasoning; extra is the provider's JSON.
func Reasoning(text, extra string) Part {
	return Part{Kind: PartReasoning, Text: text, Extra: extra}
}

// valid makes every text valid UTF-8, without which two different texts could have
// the same JSON, hence the same digest.
func (p Part) valid() Part {
	for _, s := range []*string{&p.Text, &p.Name, &p.MIME, &p.URL, &p.Extra} {
		*s = validUTF8(*s)
	}
	return p
}

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// name and parse map an enumeration to its names on the wire.
func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

func parse[T ~uint8](v *T, names []string, text []byte, what string) error {
	for i, n := range names {
		if n == string(text) {
			*v = T(i)
			return nil
		}
	}
	return fmt.Errorf("unknown %s %q", what, text)
}

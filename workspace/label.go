package workspace

import (
	"bytes"
	"fmt"
	"strings"
)

// check refuses labels that would not stay on a marker's line.
func (o *MergeOptions) check() error {
	for i, label := range o.Labels {
		if strings.ContainsAny(label, "\r\n\x00") {
			return fmt.Errorf("label %d is not one line of text: %q", i, label)
		}
	}
	return nil
}

// label is what a side is called.
func (o *MergeOptions) label(i int, otherwise string) string {
	if i < len(o.Labels) && o.Labels[i] != "" {
		return o.Labels[i]
	}
	return otherwise
}

// label has the markers name the sides rather than the commits that git was given. No file
// can have those names by chance: they are made from its content.
func (m *merger) label(r *reader) error {
	if !m.options.Markers {
		return nil
	}
	names := strings.NewReplacer(
		"<<<<<<< "+m.commits[0].String(), "<<<<<<< "+m.options.label(0, "ours"),
		">>>>>>> "+m.commits[1].String(), ">>>>>>> "+m.options.label(1, "theirs"))
	for p := range m.conflicts {
		e, ok := m.tree[p]
		if !ok || !e.isFile() {
			continue
		}
		text, err := r.bytes("blob", e.id)
		if err != nil {
			return err
		}
		labeled := []byte(names.Replace(string(text)))
		if bytes.Equal(labeled, text) {
			continue
		}
		if e.id, err = m.s.objects.put("blob", labeled); err != nil {
			return err
		}
		m.tree[p] = e
	}
	return nil
}

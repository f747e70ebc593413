package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
)

// RememberOptions say what is known of a text. The zero RememberOptions are those of a
// user's preference.
type RememberOptions struct {
	Scope      string  // empty: user
	Category   string  // the folder; empty: preferences
	About      string  // the subject, of which one thing is true at a time: "user.city"
	Importance float64 // from 0 to 1; 0: not told
	Trust      Trust   // empty: user
	Meta       map[string]string
	Source     Source
}

// Remember keeps a text as a note, memory://user/memories/preferences/ and eight digits of
// its digest. The same words again are the same note. A note about something ends those
// about the same in its folder: they stay, with the time until which they held.
func (s *Store) Remember(ctx context.Context, text string, o *RememberOptions) (Note, error) {
	if o == nil {
		o = &RememberOptions{}
	}
	n := Note{
		Text: text, About: o.About, Importance: o.Importance, Trust: cmp.Or(o.Trust, TrustUser), Meta: o.Meta, Source: o.Source,
	}
	folder, err := ParseURI(string(driver.Root) + cmp.Or(o.Scope, driver.ScopeUser) + "/memories/" + cmp.Or(o.Category, "preferences"))
	if err != nil {
		return Note{}, s.fail("remember", quoted(text), err)
	}
	n.URI = named(folder, text, short)
	return s.put(ctx, driver.Merge, n, folder)
}

// Write keeps a note at its URI, in place of what is there. Its time is now unless it has
// one.
func (s *Store) Write(ctx context.Context, n Note) (Note, error) {
	return s.put(ctx, driver.Replace, n, "")
}

// The lengths of names made of digests: the long one where two texts share the short one.
const (
	short = 8
	long  = 32
)

func named(folder URI, text string, digits int) URI {
	sum := sha256.Sum256([]byte(driver.Words(text)))
	return folder.Join(hex.EncodeToString(sum[:])[:digits])
}

// written is the input of a write.
type written struct {
	Mode driver.Mode `json:"mode"`
	Note Note        `json:"note"`
}

// put keeps a note. If another has its name, and the name is of our making, it gets a
// longer one of the folder.
func (s *Store) put(ctx context.Context, mode driver.Mode, n Note, folder URI) (Note, error) {
	n, err := checked(n)
	if err != nil {
		return Note{}, s.fail(OpWrite, cmp.Or(string(n.URI), quoted(n.Text)), err)
	}
	op := operation{OpWrite, string(n.URI), effect.Idempotent}
	return do(ctx, s, op, written{mode, n}, func(ctx context.Context) (Note, error) {
		if err := s.canKeep(n); err != nil {
			return Note{}, err
		}
		if n.Time.IsZero() {
			n.Time = time.Now().UTC()
		}
		kept, err := s.d.Put(ctx, mode, n)
		if errors.Is(err, ErrExists) && folder != "" {
			n.URI = named(folder, n.Text, long)
			kept, err = s.d.Put(ctx, mode, n)
		}
		if err != nil {
			return Note{}, err
		}
		return kept[0], nil
	})
}

// checked refuses what no driver has to take, and completes the rest.
func checked(n Note) (Note, error) {
	uri, err := ParseURI(string(n.URI))
	if err != nil {
		return n, err
	}
	n.URI = uri
	if err := validNote(n); err != nil {
		return n, err
	}
	if n.Replaces != "" {
		n.Replaces, err = ParseURI(string(n.Replaces))
	}
	return n, err
}

func (s *Store) canKeep(n Note) error {
	if !s.d.Capabilities().Metadata && (n.About != "" || n.Importance != 0 || len(n.Meta) > 0 || n.Replaces != "") {
		return unsupported("keep what a note is about, its importance or metadata")
	}
	return nil
}

func validNote(n Note) error {
	switch {
	case n.URI.Parent() == Root || n.URI == Root:
		return invalid("%s is a scope: a note lies within one", n.URI)
	case strings.TrimSpace(n.Text) == "":
		return invalid("the text is empty")
	case len(n.Text) > driver.MaxText:
		return invalid("the text has %d bytes, more than %d: add it as a resource", len(n.Text), driver.MaxText)
	case !utf8.ValidString(n.Text + n.Title + n.Context + n.About):
		return invalid("the text is not UTF-8")
	case n.Importance < 0 || n.Importance > 1 || n.Importance != n.Importance:
		return invalid("an importance of %v: it is from 0 to 1", n.Importance)
	case !n.Trust.Valid():
		return invalid("the trust %q: the labels are user, agent, tool, resource", n.Trust)
	}
	return nil
}

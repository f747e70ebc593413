package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/resource"
)

// ResourceOptions say how a document is kept. The zero ResourceOptions keep it under its
// name in memory://resources.
type ResourceOptions struct {
	To         URI     // the folder; empty: memory://resources/ and the name, see [Store.AddResource]
	Data       []byte  // the document itself; the name is only its name then
	MIME       string  // of Data; empty: found out
	Wait       bool    // where a server reads it: until it can be found
	Importance float64 // from 0 to 1; 0: not told
	Meta       map[string]string
	Progress   func(Progress) // called now and then from one goroutine; may be nil
}

// Progress is how far an addition, an import or an export has come.
type Progress struct {
	Name  string // of the file or note at hand
	Files int    // done
	Total int    // there are; 0: not known
	Notes int    // done
}

// resourced is the input of an addition: what the caller gave, but for what may be secret.
type resourced struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // the digest of the name, if the name is not all of it
	To      URI    `json:"to,omitempty"`
	SHA256  string `json:"sha256,omitempty"` // of Data
	Wait    bool   `json:"wait,omitempty"`
}

// AddResource keeps a document: a file, all files of a folder, what is at an http or https
// address, or the data in the options. Each is a folder of notes, pieces that overlap, with
// the headings above them; who said it is a document, whose word is not to be trusted.
//
// A file that is there already, to the byte, or anywhere among the resources, is not kept
// again; one that has changed takes the place of what was there. Another document there is
// [ErrExists]. What cannot be kept of a folder is skipped, and told.
//
// Without a destination, it is named after the file or address, with eight digits of the
// digest of its absolute name behind it, for there are many README.md. Of an address, what
// may be secret (user, password, query) is in no note, no record and no error.
func (s *Store) AddResource(ctx context.Context, name string, o *ResourceOptions) (Ingested, error) {
	if o == nil {
		o = &ResourceOptions{}
	}
	shown := resource.Shown(name)
	to, err := checkedResource(name, o)
	if err != nil {
		return Ingested{}, s.fail(OpAdd, quoted(shown), err)
	}
	in := resourced{Name: shown, To: to, Wait: o.Wait}
	if shown != name {
		in.Address = hexDigest([]byte(name))
	}
	if o.Data != nil {
		in.SHA256 = hexDigest(o.Data)
	}
	return do(ctx, s, operation{OpAdd, shown, effect.Idempotent}, in, func(ctx context.Context) (Ingested, error) {
		whole := identity(name, o)
		to := cmp.Or(to, Root.Join(driver.ScopeResources, slug(shown, whole)))
		if d, ok := s.d.(driver.Ingester); ok {
			out, err := d.Ingest(ctx, driver.Resource{URI: to, Name: name, Data: o.Data, MIME: o.MIME, Wait: o.Wait})
			return hidden(name, out, err)
		}
		a := addition{store: s, options: o, name: name, identity: whole, out: Ingested{URI: to}}
		a.note = Note{Importance: o.Importance, Meta: o.Meta, Time: time.Now().UTC(), Trust: TrustResource}
		err := a.run(ctx)
		return a.out, err
	})
}

func hexDigest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// checkedResource gives the destination that the caller named, if any, in its canonical form.
func checkedResource(name string, o *ResourceOptions) (URI, error) {
	if strings.TrimSpace(name) == "" {
		return "", invalid("the resource has no name")
	}
	if !(o.Importance >= 0 && o.Importance <= 1) {
		return "", invalid("an importance of %v: it is from 0 to 1", o.Importance)
	}
	if o.To == "" {
		return "", nil
	}
	to, err := ParseURI(string(o.To))
	if err == nil && to.Parent() == Root {
		err = invalid("%s is a scope: name a folder within one", to)
	}
	return to, err
}

// identity is what tells a resource from all others: its whole address or absolute name, or
// the name that was given to data.
func identity(name string, o *ResourceOptions) string {
	if o.Data != nil || resource.IsURL(name) {
		return name
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return abs
}

// slug makes a segment of the name of a resource.
func slug(shown, whole string) string {
	name := whole
	switch u, err := url.Parse(shown); {
	case err == nil && resource.IsURL(shown):
		name = u.Host + u.Path
	case filepath.IsAbs(whole):
		name = filepath.Base(whole)
	}
	return segment(name, whole)
}

// segment makes any text a segment of a URI. If it is not all of what it stands for, the
// digest of that follows it.
func segment(text, whole string) string {
	text = strings.Map(func(r rune) rune {
		if !driver.InSegment(r) || r == utf8.RuneError {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(strings.Trim(text, "/"), "_"))
	if text == "" || text == "." || text == ".." {
		text = "document"
	}
	if text == whole && len(text) <= driver.MaxSegment-16 {
		return text
	}
	for len(text) > driver.MaxSegment-16 {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text + "-" + hexDigest([]byte(whole))[:short]
}

// hidden takes out of what a server says of an address what may be secret in that.
func hidden(name string, out Ingested, err error) (Ingested, error) {
	shown := resource.Shown(name)
	if shown == name {
		return out, err
	}
	without := strings.NewReplacer(secrets(name)...)
	for i, text := range out.Skipped {
		out.Skipped[i] = without.Replace(text)
	}
	if err != nil && without.Replace(err.Error()) != err.Error() {
		err = &hiding{without.Replace(err.Error()), err}
	}
	return out, err
}

// secrets are the parts of an address that may be secret, each with what is told instead.
func secrets(address string) []string {
	pairs := []string{address, resource.Shown(address)}
	u, err := url.Parse(address)
	if err != nil {
		return pairs
	}
	hide := []string{u.RawQuery}
	for _, values := range u.Query() {
		hide = append(hide, values...)
	}
	if password, ok := u.User.Password(); ok {
		hide = append(hide, u.User.String(), password)
	}
	for _, text := range hide {
		if len(text) >= 4 { // what is shorter is in other words, too
			pairs = append(pairs, text, "...")
		}
	}
	return pairs
}

// hiding is an error that says less than what it wraps.
type hiding struct {
	text string
	err  error
}

func (h *hiding) Error() string { return h.text }
func (h *hiding) Unwrap() error { return h.err }

// taken is an [ErrExists] that says what can be done.
type taken struct{ at URI }

func (t *taken) Error() string {
	return fmt.Sprintf("%v: %s has another document", ErrExists, t.at)
}
func (t *taken) Unwrap() error { return ErrExists }
func (t *taken) Hint() string {
	return "choose another folder for it, or remove what is there"
}

package memorytest

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/local"
	"github.com/openrath-go/rath/session"
)

// lie names what the driver in TestLiar claims and does not have, or does wrong.
const lie = "RATH_TEST_LIE"

// Every capability has a rule that fails where it is claimed and is not there.
func TestEveryClaimIsChecked(t *testing.T) {
	for field := range reflect.TypeFor[driver.Capabilities]().Fields() {
		t.Run(field.Name, func(t *testing.T) {
			fails(t, field.Name, ruleAbout(t, field.Name))
		})
	}
}

// Every one of these faults breaks a rule.
func TestFaultsAreFound(t *testing.T) {
	for name, f := range faults {
		t.Run(name, func(t *testing.T) { fails(t, name, f.rule) })
	}
}

// fails checks that a liar breaks a rule.
func fails(t *testing.T, name, rule string) {
	t.Helper()
	t.Parallel()
	if os.Getenv(lie) != "" {
		t.Skip("this is the liar")
	}
	pattern := regexp.QuoteMeta(strings.ReplaceAll(rule, " ", "_"))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLiar$/^"+pattern+"$", "-test.v")
	cmd.Env = append(os.Environ(), lie+"="+name)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestLiar/"+strings.ReplaceAll(rule, " ", "_")) {
		t.Errorf("the rule %q does not fail: %v\n%s", rule, err, out)
	}
}

// ruleAbout is the first rule that is about a capability more than about any other.
func ruleAbout(t *testing.T, capability string) string {
	t.Helper()
	best := ""
	for _, r := range rules() {
		needs := strings.Fields(r.needs)
		switch i := slices.Index(needs, capability); {
		case i == 0 && len(needs) == 1:
			return r.name
		case i >= 0 && best == "":
			best = r.name
		}
	}
	if best == "" {
		t.Fatalf("no rule is about %s", capability)
	}
	return best
}

func TestLiar(t *testing.T) {
	name := os.Getenv(lie)
	if name == "" {
		t.Skip("it is a part of the other tests")
	}
	Suite{Patience: 1, Open: func(t *testing.T) driver.Store {
		d, err := local.OpenDriver(t.Context(), t.TempDir(), nil)
		if err != nil {
			t.Fatal(err)
		}
		s := honest{d, d.(driver.Archiver), d.(driver.Extras), d.(driver.Counter)}
		if f, ok := faults[name]; ok {
			return f.make(s)
		}
		return liar{s, name}
	}}.Run(t)
}

// honest is a driver with all that it implements.
type honest struct {
	driver.Store
	driver.Archiver
	driver.Extras
	driver.Counter
}

// liar is a driver that claims what it does not do.
type liar struct {
	honest
	claim string
}

func (l liar) Capabilities() driver.Capabilities {
	c := l.honest.Capabilities()
	reflect.ValueOf(&c).Elem().FieldByName(l.claim).SetBool(true)
	return c
}

func (l liar) Put(ctx context.Context, mode driver.Mode, notes ...driver.Note) ([]driver.Note, error) {
	switch l.claim {
	case "Merge":
		mode = driver.Replace
	case "Metadata":
		var bare []driver.Note
		for _, n := range notes {
			bare = append(bare, note(n.URI, n.Text))
		}
		_, err := l.honest.Put(ctx, mode, bare...)
		return notes, err
	case "Atomic":
		for _, n := range notes {
			if _, err := l.honest.Put(ctx, mode, n); err != nil {
				return nil, err
			}
		}
		return notes, nil
	}
	return l.honest.Put(ctx, mode, notes...)
}

func (l liar) Find(ctx context.Context, q driver.Query) (driver.Found, error) {
	switch l.claim {
	case "Lexical":
		return driver.Found{Match: "words"}, nil
	case "Semantic":
		q.Match = driver.MatchWords
	case "Filter":
		q = driver.Query{Text: q.Text, Under: q.Under, Limit: q.Limit, Match: q.Match, Snippet: q.Snippet}
	}
	return l.honest.Find(ctx, q)
}

func (l liar) Move(ctx context.Context, from, to driver.URI) error {
	if l.claim == "Move" {
		return nil
	}
	return l.honest.Move(ctx, from, to)
}

func (l liar) Archive(ctx context.Context, a driver.Archive, job bool) (driver.State, error) {
	if l.claim == "Archive" {
		return driver.Archived, nil
	}
	return l.honest.Archive(ctx, a, job)
}

func (l liar) Ingest(_ context.Context, r driver.Resource) (driver.Ingested, error) {
	return driver.Ingested{URI: r.URI, Files: 1, Notes: 1}, nil
}

func (l liar) Commit(_ context.Context, a driver.Archive, _ bool) (driver.Committed, error) {
	return driver.Committed{Archive: a}, nil
}

// fault is something that a driver does wrong, and the rule that it breaks.
type fault struct {
	rule string
	make func(honest) driver.Store
}

var faults = map[string]fault{
	"loses a byte": {"keeps notes", func(s honest) driver.Store {
		return changes{s, func(n *driver.Note) { n.Text = strings.TrimSpace(n.Text) }}
	}},
	"folds names": {"keeps any URI", func(s honest) driver.Store {
		return changes{s, func(n *driver.Note) { n.URI = driver.URI(strings.ToLower(string(n.URI))) }}
	}},
	"dates anew":     {"keeps all fields", func(s honest) driver.Store { return changes{s, func(n *driver.Note) { n.Created = day(20) }} }},
	"forgets to end": {"ends what is no longer true", func(s honest) driver.Store { return changes{s, func(n *driver.Note) { n.About = "" }} }},
	"believes all": {"does not let the less trusted end what the more trusted said", func(s honest) driver.Store {
		return changes{s, func(n *driver.Note) { n.Trust = driver.TrustUser }}
	}},
	"believes what is repeated": {"does not believe what is only repeated", func(s honest) driver.Store { return believes{s} }},
	"writes beside a user's": {"does not let the less trusted change what was said", func(s honest) driver.Store {
		return changes{s, func(n *driver.Note) { n.Trust = "" }}
	}},
	"takes much for the same": {"takes different facts for different", func(s honest) driver.Store {
		return changes{s, func(n *driver.Note) { n.Text = strings.Trim(n.Text, "#+%-.") }}
	}},
	"waits though it is asked": {"tries a job at once by request", func(s honest) driver.Store { return patient{s} }},
	"forgets what it kept":     {"tells what a job has kept", func(s honest) driver.Store { return forgets{s} }},
	"removes too much":         {"removes notes", func(s honest) driver.Store { return removes{s} }},
	"has no order":             {"lists folders", func(s honest) driver.Store { return lists{s} }},
	"knows no limit":           {"finds no more than it is asked for", func(s honest) driver.Store { return finds{s, func(q *driver.Query) { q.Limit = 1000 }, nil} }},
	"looks everywhere":         {"finds in folders", func(s honest) driver.Store { return finds{s, func(q *driver.Query) { q.Under = nil }, nil} }},
	"shows another place":      {"shows what it found", func(s honest) driver.Store { return finds{s, nil, func(h *driver.Hit) { h.Snippet = "This sentence" }} }},
	"calls a part the whole":   {"shows what it found", func(s honest) driver.Store { return finds{s, nil, func(h *driver.Hit) { h.Whole = true }} }},
	"goes on when cancelled":   {"does nothing for who no longer waits", func(s honest) driver.Store { return deaf{s} }},
	"never ends":               {"ends", func(s honest) driver.Store { return immortal{s} }},
	"keeps what was lost":      {"finishes all or nothing", func(s honest) driver.Store { return hasty{s} }},
	"counts what it released":  {"gives a job back", func(s honest) driver.Store { return counting{s} }},
	"queues twice":             {"queues a job once", func(s honest) driver.Store { return twice{s} }},
	"cuts transcripts":         {"keeps transcripts", func(s honest) driver.Store { return cuts{s} }},
	"mixes up extras":          {"keeps the files that are not notes", func(s honest) driver.Store { return mixes{s} }},
}

// The faulty drivers.
type (
	changes struct {
		honest
		change func(*driver.Note)
	}
	finds struct {
		honest
		ask    func(*driver.Query)
		answer func(*driver.Hit)
	}
	removes  struct{ honest }
	lists    struct{ honest }
	deaf     struct{ honest }
	immortal struct{ honest }
	hasty    struct{ honest }
	counting struct{ honest }
	twice    struct{ honest }
	cuts     struct{ honest }
	mixes    struct{ honest }
	believes struct{ honest }
	patient  struct{ honest }
	forgets  struct{ honest }
)

func (d believes) Put(ctx context.Context, mode driver.Mode, notes ...driver.Note) ([]driver.Note, error) {
	kept, err := d.honest.Put(ctx, mode, notes...)
	for i := range kept {
		kept[i].Trust = kept[i].Trust.Better(notes[i].Trust)
	}
	return kept, err
}

func (d patient) Archive(ctx context.Context, a driver.Archive, job bool) (driver.State, error) {
	if list, err := d.honest.Archives(ctx, a.Session); err != nil || len(list) > 0 && list[0].State == driver.Queued {
		return driver.Queued, err
	}
	return d.honest.Archive(ctx, a, job)
}

func (d forgets) Archives(ctx context.Context, id session.ID) ([]driver.Archive, error) {
	list, err := d.honest.Archives(ctx, id)
	for i := range list {
		list[i].Notes = nil
	}
	return list, err
}

func (d changes) Put(ctx context.Context, mode driver.Mode, notes ...driver.Note) ([]driver.Note, error) {
	notes = slices.Clone(notes)
	for i := range notes {
		d.change(&notes[i])
	}
	return d.honest.Put(ctx, mode, notes...)
}

func (d finds) Find(ctx context.Context, q driver.Query) (driver.Found, error) {
	if d.ask != nil {
		d.ask(&q)
	}
	f, err := d.honest.Find(ctx, q)
	for i := range f.Hits {
		if d.answer != nil {
			d.answer(&f.Hits[i])
		}
	}
	return f, err
}

func (d removes) Remove(ctx context.Context, uri driver.URI, _ bool) (int, error) {
	return d.honest.Remove(ctx, uri, true)
}

func (d lists) List(ctx context.Context, folder driver.URI) ([]driver.Entry, error) {
	entries, err := d.honest.List(ctx, folder)
	slices.Reverse(entries)
	return entries, err
}

func (d deaf) Remove(ctx context.Context, uri driver.URI, recursive bool) (int, error) {
	return d.honest.Remove(context.WithoutCancel(ctx), uri, recursive)
}

func (d immortal) Close() error { return nil }

func (d hasty) Finish(ctx context.Context, j driver.Job, notes []driver.Note) error {
	var errs []error
	for _, n := range notes {
		_, err := d.honest.Put(ctx, driver.Merge, n)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return d.honest.Finish(ctx, j, nil)
}

func (d counting) Release(ctx context.Context, j driver.Job) error { return d.honest.Fail(ctx, j, "") }

func (d twice) Archive(ctx context.Context, a driver.Archive, job bool) (driver.State, error) {
	a.Transcript = a.Transcript.Append(session.User(session.Text(a.Session.String())))
	a.Digest, a.Len = a.Transcript.Digest(), a.Transcript.Len()
	return d.honest.Archive(ctx, a, job)
}

func (d cuts) Transcript(ctx context.Context, digest session.Digest) (session.Transcript, error) {
	t, err := d.honest.Transcript(ctx, digest)
	return t.First(t.Len() - 1), err
}

func (d mixes) EachExtra(ctx context.Context, f func(string, []byte) error) error {
	all := map[string][]byte{}
	err := d.honest.EachExtra(ctx, func(name string, data []byte) error {
		all[name] = data
		return nil
	})
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		if err := f(name, all[name]); err != nil {
			return err
		}
	}
	return err
}

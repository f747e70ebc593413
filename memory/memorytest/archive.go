package memorytest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// archive is what is committed of a session.
func archive(s session.Session) driver.Archive {
	t := s.Transcript()
	return driver.Archive{Session: s.ID(), Digest: t.Digest(), Len: t.Len(), Time: day(1), Transcript: t}
}

// long is a session of so many chunks.
func long(n int) session.Session {
	s := session.FromUser("begin")
	for i := 1; i < n; i++ {
		s = s.Append(session.User(session.Text(fmt.Sprint("chunk ", i))))
	}
	return s
}

// archiver is the store as one that keeps transcripts.
func (c check) archiver() driver.Archiver {
	c.Helper()
	a, ok := c.s.(driver.Archiver)
	if !ok {
		c.Fatalf("the driver claims Archive and is no driver.Archiver\n\tthe rule: %s", c.because)
	}
	return a
}

func (c check) archive(a driver.Archive, job bool, want driver.State) {
	c.Helper()
	state, err := c.archiver().Archive(c.ctx, a, job)
	c.must(err, "archive")
	if state != want {
		c.broken("the archive of %d chunks, with a job: %v, is %q, want %q", a.Len, job, state, want)
	}
}

// archived checks that a transcript is kept.
func (c check) archived(s session.Session) {
	c.Helper()
	t, err := c.archiver().Transcript(c.ctx, s.Digest())
	if err != nil || !t.Equal(s.Transcript()) {
		c.broken("the transcript of %d chunks came back with %d, %v", s.Len(), t.Len(), err)
	}
}

// archiveRules are those of transcripts.
var archiveRules = []rule{
	{"keeps transcripts", "facts are checked against what was said", "Archive", func(c check) {
		s := session.FromUser("hello").Append(session.User(session.Text("日本語 \x00"), session.Image("image/png", []byte{0, 1, 255})), session.Assistant([]session.Part{session.Text("hi")}))
		a := archive(s)
		a.Used = []driver.URI{prefs.Join("a"), prefs.Join("b")}
		c.archive(a, false, driver.Archived)
		c.archived(s)
		list, err := c.archiver().Archives(c.ctx, s.ID())
		c.must(err, "list archives")
		a.Transcript, a.State = session.Transcript{}, driver.Archived
		if len(list) != 1 || list[0].Transcript.Len() != 0 {
			c.Fatalf("the archives are %+v", list)
		}
		list[0].Transcript = session.Transcript{}
		c.same(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", list[0]), "the archive")
		_, err = c.archiver().Transcript(c.ctx, session.FromUser("other").Digest())
		c.is(err, driver.ErrNotFound, "read what was not archived")
	}},
	{"keeps the same once", "a commit may be repeated", "Archive", func(c check) {
		s := long(3)
		c.archive(archive(s), false, driver.Archived)
		c.archive(archive(s), false, driver.Archived)
		list, err := c.archiver().Archives(c.ctx, session.ID{})
		if err != nil || len(list) != 1 {
			c.broken("there are %d archives, %v", len(list), err)
		}
	}},
	{"keeps what grows and forks", "every turn may be committed", "Archive", func(c check) {
		base := long(50)
		var all []session.Session
		for i := range 10 {
			base = base.Append(session.User(session.Text(fmt.Sprint("turn ", i))))
			all = append(all, base, base.Append(session.User(session.Text(fmt.Sprint("aside ", i)))))
		}
		all = append(all, long(20))
		for i, s := range all {
			a := archive(s)
			a.Time = day(1).Add(time.Duration(i) * time.Minute)
			c.archive(a, false, driver.Archived)
		}
		for _, s := range all {
			c.archived(s)
		}
		list, err := c.archiver().Archives(c.ctx, session.ID{})
		c.must(err, "list archives")
		if len(list) != len(all) || !slices.IsSortedFunc(list, func(a, b driver.Archive) int { return a.Time.Compare(b.Time) }) {
			c.broken("there are %d archives of %d, or not the oldest first", len(list), len(all))
		}
	}},
	{"keeps long transcripts", "a session may go on for days", "Archive", func(c check) {
		s := long(2000).Append(session.User(session.Text(strings.Repeat("long ", 200_000))))
		c.archive(archive(s), false, driver.Archived)
		c.archived(s)
	}},
}

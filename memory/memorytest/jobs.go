package memorytest

import (
	"fmt"
	"sync"
	"time"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// claim takes up a job that must be there.
func (c check) claim(owner string) driver.Job {
	c.Helper()
	j, ok, err := c.archiver().Claim(c.ctx, owner)
	c.must(err, "claim a job")
	if !ok {
		c.Fatalf("there is no job for %s\n\tthe rule: %s", owner, c.because)
	}
	return j
}

// idle checks that there is no job.
func (c check) idle() {
	c.Helper()
	if j, ok, err := c.archiver().Claim(c.ctx, "idle"); ok || err != nil {
		c.broken("there is a job, %+v, %v", j, err)
	}
}

func (c check) pending(jobs, failed int) {
	c.Helper()
	j, f, err := c.archiver().Pending(c.ctx)
	if j != jobs || f != failed || err != nil {
		c.broken("%d jobs are left and %d have failed, %v; want %d and %d", j, f, err, jobs, failed)
	}
}

// advance moves the clock.
func (c check) advance(d time.Duration) {
	c.Helper()
	if c.suite.Advance == nil {
		c.Skip("the driver's clock cannot be moved")
	}
	c.suite.Advance(d)
}

// jobRules are those of the queue.
var jobRules = []rule{
	{"queues a job for a transcript", "facts are extracted later", "Archive", func(c check) {
		s := long(5)
		c.archive(archive(s), true, driver.Queued)
		c.pending(1, 0)
		j := c.claim("one")
		if j.Owner != "one" || j.Tries != 1 || j.From != 0 || j.Archive.Session != s.ID() || j.Archive.Digest != s.Digest() || !j.Archive.Transcript.Equal(s.Transcript()) {
			c.broken("the job is %+v", j)
		}
		c.idle()
		c.pending(1, 0)
		c.must(c.archiver().Finish(c.ctx, j, []driver.Note{note(prefs.Join("fact"), "likes tea")}), "finish")
		c.holds(prefs.Join("fact"), "likes tea")
		c.pending(0, 0)
		c.idle()
		c.archive(archive(s), true, driver.Known)
		c.idle()
		c.archived(s)
	}},
	{"tells how far an archive has come", "people ask", "Archive", func(c check) {
		a, b := long(3), session.FromUser("other")
		c.archive(archive(a), false, driver.Archived)
		c.archive(archive(b), true, driver.Queued)
		state := func(s session.Session, want driver.State) {
			c.Helper()
			list, err := c.archiver().Archives(c.ctx, s.ID())
			if err != nil || len(list) != 1 || list[0].State != want {
				c.broken("the archives are %+v, %v, want one that is %q", list, err, want)
			}
		}
		state(a, driver.Archived)
		state(b, driver.Queued)
		c.archive(archive(a), true, driver.Queued)
		c.pending(2, 0)
		c.must(c.archiver().Finish(c.ctx, c.claim("one"), nil), "finish")
		state(b, driver.Done)
		state(a, driver.Queued)
	}},
	{"queues a job once", "a fact is not extracted twice", "Archive", func(c check) {
		s := long(4)
		c.archive(archive(s), true, driver.Queued)
		c.archive(archive(s), true, driver.Queued)
		c.archive(archive(s.Fork()), true, driver.Queued)
		c.pending(1, 0)
		c.claim("one")
		c.idle()
	}},
	{"tells where to begin", "what was read before is not read again", "Archive", func(c check) {
		first := long(4)
		second := first.Append(session.User(session.Text("more")))
		plain := second.Append(session.User(session.Text("archived only")))
		third := plain.Append(session.User(session.Text("and more")))
		c.archive(archive(first), true, driver.Queued)
		c.archive(archive(second), true, driver.Queued)
		c.archive(archive(plain), false, driver.Archived)
		c.archive(archive(third), true, driver.Queued)
		for i, want := range []int{0, 4, 5} {
			if j := c.claim("one"); j.From != want {
				c.broken("job %d, of %d chunks, begins at %d, want %d", i, j.Archive.Len, j.From, want)
			}
		}
	}},
	{"gives each job to one", "work is not done twice", "Archive", func(c check) {
		const jobs = 20
		for i := range jobs {
			c.archive(archive(session.FromUser(fmt.Sprint(i))), true, driver.Queued)
		}
		var mu sync.Mutex
		taken := map[session.Digest]int{}
		c.together(8, func(i int) error {
			for {
				j, ok, err := c.archiver().Claim(c.ctx, fmt.Sprint(i))
				if err != nil || !ok {
					return err
				}
				mu.Lock()
				taken[j.Archive.Digest]++
				mu.Unlock()
				if err := c.archiver().Finish(c.ctx, j, []driver.Note{note(facts.Join(j.Archive.Digest.String()), j.Archive.Digest.String())}); err != nil {
					return err
				}
			}
		})
		for d, n := range taken {
			if n != 1 {
				c.broken("job %s was given to %d", d, n)
			}
		}
		if names := c.list(facts); len(taken) != jobs || len(names) != jobs {
			c.broken("of %d jobs %d were given and %d done", jobs, len(taken), len(names))
		}
	}},
	{"finishes all or nothing", "half of what was learned is wrong", "Archive Merge", func(c check) {
		c.replace(string(facts.Join("there")), "something else")
		c.archive(archive(long(2)), true, driver.Queued)
		j := c.claim("one")
		err := c.archiver().Finish(c.ctx, j, []driver.Note{note(facts.Join("new"), "new"), note(facts.Join("there"), "clash")})
		c.is(err, driver.ErrExists, "finish with a note where another is")
		c.gone(facts.Join("new"))
		c.pending(1, 0)
		c.must(c.archiver().Finish(c.ctx, j, []driver.Note{note(facts.Join("new"), "new")}), "finish without it")
		c.holds(facts.Join("new"), "new")
		c.is(c.archiver().Finish(c.ctx, j, nil), driver.ErrConflict, "finish again")
	}},
	{"gives a job back", "a program that ends is not a job that failed", "Archive", func(c check) {
		c.archive(archive(long(2)), true, driver.Queued)
		for range 10 {
			j := c.claim("one")
			if j.Tries != 1 {
				c.broken("it is the %dth try", j.Tries)
			}
			c.must(c.archiver().Release(c.ctx, j), "release")
			c.is(c.archiver().Finish(c.ctx, j, []driver.Note{note(facts.Join("x"), "x")}), driver.ErrConflict, "finish what was given back")
		}
		c.gone(facts.Join("x"))
		c.pending(1, 0)
	}},
	{"takes a job from who has gone away", "processes are killed", "Archive", func(c check) {
		c.archive(archive(long(2)), true, driver.Queued)
		lost := c.claim("one")
		c.advance(24 * time.Hour)
		j := c.claim("two")
		if j.ID != lost.ID || j.Tries != 2 {
			c.broken("the job is %+v, it was %+v", j, lost)
		}
		c.is(c.archiver().Renew(c.ctx, lost), driver.ErrConflict, "renew what is lost")
		c.is(c.archiver().Fail(c.ctx, lost, "x"), driver.ErrConflict, "fail what is lost")
		c.is(c.archiver().Release(c.ctx, lost), driver.ErrConflict, "release what is lost")
		c.is(c.archiver().Finish(c.ctx, lost, []driver.Note{note(facts.Join("lost"), "x")}), driver.ErrConflict, "finish what is lost")
		c.gone(facts.Join("lost"))
		c.must(c.archiver().Renew(c.ctx, j), "renew what is held")
		c.must(c.archiver().Finish(c.ctx, j, nil), "finish what is held")
	}},
	{"gives up a job that ends who works on it", "one transcript must not end every process", "Archive", func(c check) {
		c.archive(archive(long(2)), true, driver.Queued)
		tries := 0
		for ; tries < 20; tries++ {
			if _, ok, err := c.archiver().Claim(c.ctx, fmt.Sprint(tries)); !ok || err != nil {
				c.must(err, "claim")
				break
			}
			c.advance(24 * time.Hour)
		}
		if tries < 2 || tries > 10 {
			c.broken("it was taken up %d times", tries)
		}
		c.pending(1, 1)
	}},
	{"holds a job that is renewed", "some work takes long", "Archive", func(c check) {
		c.archive(archive(long(2)), true, driver.Queued)
		j := c.claim("one")
		for range 100 {
			c.advance(10 * time.Second)
			c.must(c.archiver().Renew(c.ctx, j), "renew")
			c.idle()
		}
		c.must(c.archiver().Finish(c.ctx, j, nil), "finish")
	}},
	{"tells what a job has kept", "a commit that is repeated gives the same", "Archive Merge", func(c check) {
		s := long(3)
		c.archive(archive(s), true, driver.Queued)
		c.replace(string(facts.Join("there")), "Likes dogs.")
		j := c.claim("one")
		c.must(c.archiver().Finish(c.ctx, j, []driver.Note{note(facts.Join("new"), "likes tea"), note(facts.Join("there"), "likes dogs")}), "finish")
		list, err := c.archiver().Archives(c.ctx, s.ID())
		if err != nil || len(list) != 1 {
			c.Fatalf("the archives are %+v, %v", list, err)
		}
		c.same([]driver.URI{facts.Join("new"), facts.Join("there")}, list[0].Notes, "the notes of the job")
	}},
	{"tries a job at once by request", "who has mended what was wrong does not wait", "Archive", func(c check) {
		a := archive(long(2))
		c.archive(a, true, driver.Queued)
		c.must(c.archiver().Fail(c.ctx, c.claim("one"), "the server is down"), "fail")
		c.idle()
		c.archive(a, false, driver.Archived)
		c.idle()
		c.archive(a, true, driver.Queued)
		j := c.claim("one")
		if j.Tries != 2 {
			c.broken("it is try %d, want 2", j.Tries)
		}
		c.archive(a, true, driver.Queued)
		c.idle() // somebody works on it
		c.must(c.archiver().Finish(c.ctx, j, nil), "finish")
	}},
	{"tries a job again, later and not for ever", "servers are down, and some things never work", "Archive", func(c check) {
		a := archive(long(2))
		c.archive(a, true, driver.Queued)
		tries := 0
		for range 20 {
			j, ok, err := c.archiver().Claim(c.ctx, "one")
			c.must(err, "claim")
			if !ok {
				break
			}
			if tries++; j.Tries != tries {
				c.broken("try %d is counted as %d", tries, j.Tries)
			}
			c.must(c.archiver().Fail(c.ctx, j, "the server is down"), "fail")
			c.idle() // it is not tried at once
			c.advance(24 * time.Hour)
		}
		if tries < 2 || tries > 10 {
			c.broken("it was tried %d times", tries)
		}
		c.pending(1, 1)
		c.archive(a, true, driver.Queued) // by request
		c.pending(1, 0)
		c.must(c.archiver().Finish(c.ctx, c.claim("one"), nil), "finish")
		c.pending(0, 0)
	}},
}

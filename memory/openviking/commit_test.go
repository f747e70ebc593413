package openviking_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/openviking"
	"github.com/openrath-go/rath/memory/openviking/contract"
	"github.com/openrath-go/rath/session"
)

func archive(transcript session.Session, used ...driver.URI) driver.Archive {
	t := transcript.Transcript()
	return driver.Archive{
		Session: session.ContentID(session.New(t.At(0)).Transcript().Digest()), Digest: t.Digest(), Len: t.Len(),
		Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Used: used, Transcript: t,
	}
}

func TestCommit(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{})
	put(t, d, "memory://user/memories/preferences/a", "likes green tea")
	talk := session.FromUser("Remember that I live in Oslo.").Append(
		session.System(session.Part{Text: "[memory:memory://user/x] > likes tea", URL: "memory://user/x"}),
		session.Assistant([]session.Part{session.Text("I look.")}, session.Call{ID: "1", Name: "time", Arguments: `{"zone":"Oslo"}`}),
		session.ToolResult(session.Answer{CallID: "1", Tool: "time"}, session.Text("noon")))
	commit := func(a driver.Archive, wait bool) driver.Committed {
		t.Helper()
		c, err := d.(driver.Committer).Commit(t.Context(), a, wait)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := archive(talk, "memory://user/memories/preferences/a", "memory://user/gone")
	c := commit(first, true)
	want := []driver.Note{{URI: "memory://user/memories/events/archive_001_1.md", Text: "Remember that I live in Oslo."}}
	if diff := cmp.Diff(want, c.Notes); diff != "" || c.Archive.State != driver.Done {
		t.Errorf("%s (-want +got)\n%s", c.Archive.State, diff)
	}
	if used := s.Used(first.Session.String()); !slices.Equal(used, []string{"viking://user/alice/memories/preferences/a.note.md"}) {
		t.Errorf("the server was told of %q", used)
	}
	if c := commit(first, true); c.Archive.State != driver.Known || s.Count("POST /api/v1/sessions/") != 3 {
		t.Errorf("again: %s, %q", c.Archive.State, s.Seen())
	}
	info, err := client(t, s).Session(t.Context(), first.Session.String())
	if err != nil || *info.Total != 3 || info.Messages != 0 {
		t.Errorf("the session is %+v, %v", info, err)
	}
	var more []session.Chunk
	for range 250 {
		more = append(more, session.User(session.Text("And more.")))
	}
	longer := archive(talk.Append(more...))
	if c := commit(longer, false); c.Archive.State != driver.Queued || s.Count("POST /api/v1/sessions/"+longer.Session.String()+"/messages/batch") != 1+3 {
		t.Errorf("longer: %s, %q", c.Archive.State, s.Seen())
	}
	_, err = d.(driver.Committer).Commit(t.Context(), first, false)
	if !errors.Is(err, driver.ErrConflict) {
		t.Errorf("the shorter one after it: %v", err)
	}
}

// A commit that broke off is taken up where it was.
func TestCommitGoesOn(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{})
	var all []session.Chunk
	for range 150 {
		all = append(all, session.User(session.Text("Remember it.")))
	}
	a := archive(session.New(all...))
	for _, f := range []contract.Fault{
		{Path: "/messages/batch", Skip: 1, Times: 1, Status: 500, Body: `oops`},
		{Path: "/messages/batch", Times: 1, Cut: true}, // carried out
		{Path: "/commit", Times: 1, Cut: true, Refuse: true},
	} {
		s.Inject(f)
		if _, err := d.(driver.Committer).Commit(t.Context(), a, true); err == nil {
			t.Errorf("%+v: no error", f)
		}
		s.Heal()
	}
	c, err := d.(driver.Committer).Commit(t.Context(), a, true)
	if err != nil || c.Archive.State != driver.Done || len(c.Notes) != 150 {
		t.Errorf("%s, %d notes, %v", c.Archive.State, len(c.Notes), err)
	}
}

func TestCommitsAtOnce(t *testing.T) {
	s := serve(t, alice())
	d := open(t, s, openviking.Options{})
	a := archive(session.FromUser("Remember it."))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if _, err := d.(driver.Committer).Commit(t.Context(), a, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if info, err := client(t, s).Session(t.Context(), a.Session.String()); err != nil || *info.Total != 1 || info.Commits != 1 {
		t.Errorf("the session is %+v, %v", info, err)
	}
}

func TestCommitFails(t *testing.T) {
	options := alice()
	options.Failing = true
	d := open(t, serve(t, options), openviking.Options{})
	c, err := d.(driver.Committer).Commit(t.Context(), archive(session.FromUser("Remember it.")), true)
	if err == nil || !strings.Contains(err.Error(), "the model does not answer") || c.Archive.State != driver.Failed {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestWaitEnds(t *testing.T) {
	options := alice()
	options.Polls = 1 << 30
	d := open(t, serve(t, options), openviking.Options{LongTimeout: 200 * time.Millisecond})
	_, err := d.(driver.Committer).Commit(t.Context(), archive(session.FromUser("Remember it.")), true)
	if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, driver.ErrTransport) {
		t.Error(err)
	}
}

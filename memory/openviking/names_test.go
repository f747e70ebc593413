package openviking

import (
	"errors"
	"strings"
	"testing"

	"github.com/openrath-go/rath/memory/driver"
	"pgregory.net/rapid"
)

func TestNames(t *testing.T) {
	plain, peer := newNames("alice", ""), newNames("alice", "helper")
	for _, test := range []struct {
		names  names
		uri    driver.URI
		remote string
	}{
		{plain, "memory://user/memories/preferences/0a1b2c3d", "viking://user/alice/memories/preferences/0a1b2c3d.note.md"},
		{plain, "memory://user/profile.md", "viking://user/alice/profile.md"},
		{plain, "memory://resources/docs/api.PY", "viking://resources/docs/api.PY"},
		{plain, "memory://resources/photo.png", "viking://resources/photo.png.note.md"},
		{plain, "memory://resources/x.note.md", "viking://resources/x.note.md.note.md"},
		{plain, "memory://agent/skills/search.md", "viking://agent/skills/search.md"},
		{peer, "memory://agent/memories/a", "viking://user/alice/peers/helper/memories/a.note.md"},
		{plain, "memory://session/1/messages.json", "viking://user/alice/sessions/1/messages.json"},
		{plain, "memory://user/a/.hidden", "viking://user/alice/a/%2Ehidden.note.md"},
		{plain, "memory://user/{calendar:today}/ x /C:/%41%", "viking://user/alice/%7Bcalendar:today%7D/%20x%20/C%3A/%2541%.note.md"},
		{plain, "memory://user/~/é?#", "viking://user/alice/~/é?#.note.md"},
	} {
		got, err := test.names.file(test.uri)
		if got != test.remote || err != nil {
			t.Errorf("%s is %s, %v, want %s", test.uri, got, err, test.remote)
		}
		if back, ok := test.names.note(test.remote); back != test.uri || !ok {
			t.Errorf("%s is %s, want %s", test.remote, back, test.uri)
		}
	}
}

func TestNoNames(t *testing.T) {
	peer := newNames("alice", "helper")
	for uri, want := range map[driver.URI]error{
		"memory://":                    driver.ErrNotFound,
		"memory://user":                driver.ErrNotFound,
		"memory://user/sessions/1/x":   driver.ErrInvalid, // it is memory://session/1/x
		"memory://user/peers/helper/x": driver.ErrInvalid,
		"memory://user/" + driver.URI(strings.Repeat("{", 100)): driver.ErrInvalid,
		"memory://user/" + driver.URI(strings.Repeat("{", 83)):  driver.ErrInvalid,
	} {
		if got, err := peer.file(uri); !errors.Is(err, want) {
			t.Errorf("%s is %s, %v", uri, got, err)
		}
	}
	for _, remote := range []string{"viking://user/bob/memories/x.md", "viking://user/alicex/y.md", "viking://user", "viking://temp/x", "viking://", "", "memory/user/xxx/identity.md", "viking://agent/skills/x"} {
		if got, ok := peer.note(remote); ok {
			t.Errorf("%s is %s", remote, got)
		}
	}
}

// Every URI comes back from the server as it was, and no two are one.
func TestNamesRoundTrip(t *testing.T) {
	segment := rapid.OneOf(
		rapid.StringMatching(`[a%.{}: ~?#é]{1,8}(\.md|\.txt|\.note\.md|\.png)?`),
		rapid.StringMatching(`(%[0-9A-Fa-f]{0,2}|[.:{} ]|x){1,6}`),
		rapid.StringN(1, 20, 60))
	uri := rapid.Custom(func(t *rapid.T) driver.URI {
		scope := rapid.SampledFrom(driver.Scopes).Draw(t, "scope")
		return driver.URI("memory://" + scope + "/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(t, "segments"), "/"))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, errA := driver.ParseURI(string(uri.Draw(t, "a")))
		b, errB := driver.ParseURI(string(uri.Draw(t, "b")))
		if errA != nil || errB != nil {
			t.Skip("no URI")
		}
		n := newNames("alice", rapid.SampledFrom([]string{"", "helper", "a{b"}).Draw(t, "agent"))
		remoteA, errA := n.file(a)
		remoteB, errB := n.file(b)
		if errA != nil || errB != nil {
			t.Skip("too long, or a scope's folder in another")
		}
		if back, ok := n.note(remoteA); !ok || back != a {
			t.Fatalf("%q is %q, and that %q", a, remoteA, back)
		}
		if (a == b) != (remoteA == remoteB) {
			t.Fatalf("%q and %q are %q and %q", a, b, remoteA, remoteB)
		}
		folder, err := n.folder(a)
		if back, ok := n.local(folder); err == nil && (!ok || back != a) {
			t.Fatalf("the folder %q is %q, and that %q", a, folder, back)
		}
	})
}

func FuzzNames(f *testing.F) {
	f.Add("viking://user/alice/memories/%2Ea b%7B.note.md")
	f.Fuzz(func(t *testing.T, remote string) {
		n := newNames("alice", "")
		if u, ok := n.note(remote); ok {
			if _, err := driver.ParseURI(string(u)); err != nil {
				t.Errorf("%q is %q: %v", remote, u, err)
			}
		}
	})
}

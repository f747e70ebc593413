package graph

import (
	"encoding/binary"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openrath-go/rath/session"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// id makes an id that sorts as n does and can be told apart by its beginning.
func id(n int) (id session.ID) {
	binary.BigEndian.PutUint32(id[:], uint32(n))
	return id
}

func at(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

// head makes a head with parents in the role of input; what it costs tells it apart.
func head(n int, parents ...int) session.Head {
	h := session.Head{ID: id(n), Len: n, Usage: session.Usage{Calls: 1, Input: int64(n)}}
	h.Lineage = session.Lineage{Op: session.OpForward, Time: at(n)}
	for _, p := range parents {
		h.Lineage.Parents = append(h.Lineage.Parents, session.Parent{ID: id(p), Role: session.RoleInput})
	}
	return h
}

func each(heads ...session.Head) iter.Seq2[session.Head, error] {
	return func(yield func(session.Head, error) bool) {
		for _, h := range heads {
			if !yield(h, nil) {
				return
			}
		}
	}
}

func build(t testing.TB, heads ...session.Head) *Graph {
	t.Helper()
	g, err := New(each(heads...))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// review is a workflow with all there is: a prompt that two sessions share, parallel
// branches, a compression, an absent parent, a branch that nothing came of.
func review() []session.Head {
	n := 0
	add := func(op session.Op, path, run string, usage session.Usage, parents ...session.Parent) session.Head {
		n++
		return session.Head{ID: id(n << 8), Digest: session.Digest{byte(n)}, Len: n, Usage: usage, Lineage: session.Lineage{
			Op: op, Path: path, Run: run, Parents: parents, Time: at(n),
		}}
	}
	input := func(h session.Head) session.Parent { return session.Parent{ID: h.ID, Role: session.RoleInput} }
	prompt := func(h session.Head) session.Parent { return session.Parent{ID: h.ID, Role: session.RolePrompt} }
	branch := func(h session.Head) session.Parent { return session.Parent{ID: h.ID, Role: session.RoleBranch} }
	cost := func(in, out, nano int64) session.Usage {
		return session.Usage{Calls: 1, Input: in, Output: out, Cost: session.Cost{Nano: nano}}
	}
	unpriced := session.Usage{Calls: 2, Unreported: 1, Input: 500, Output: 20, Cost: session.Cost{Unpriced: 2}}

	old := session.Parent{ID: id(0xabc << 16), Role: session.RoleInput}
	user := add(session.OpFork, "", "", session.Usage{}, old)
	writer := add(session.OpLeaf, "", "", session.Usage{})
	critic := add(session.OpLeaf, "", "", session.Usage{})
	draft := add(session.OpForward, "review/draft", "monday", cost(1200, 310, 4_250_000), input(user), prompt(writer))
	forks := []session.Head{
		add(session.OpFork, "", "", session.Usage{}, input(draft)),
		add(session.OpFork, "", "", session.Usage{}, input(draft)),
		add(session.OpFork, "", "", session.Usage{}, input(draft)),
	}
	style := add(session.OpForward, "review/checks/0", "monday", cost(1600, 90, 1_000_000), input(forks[0]), prompt(critic))
	facts := add(session.OpForward, "review/checks/1", "monday", unpriced, input(forks[1]), prompt(critic))
	tone := add(session.OpForward, "review/checks/2", "monday", cost(1601, 7, 0), input(forks[2]), prompt(critic))
	merged := add(session.OpMerge, "", "", session.Usage{}, branch(style), branch(facts), branch(tone))
	rejected := add(session.OpForward, "review/edit", "monday", cost(3300, 12, 9_000_000), input(merged), prompt(writer))
	rejected.Lineage.Extras = []session.Extra{{Key: "rejected", Value: "too long"}}
	small := add(session.OpCompress, "review/compress", "tuesday", cost(3300, 150, 9_900_000), input(merged))
	final := add(session.OpForward, "review/edit", "tuesday", cost(400, 200, 1_200_000), input(small), prompt(writer))
	return append([]session.Head{user, writer, critic, draft, style, facts, tone, merged, rejected, small, final}, forks...)
}

// chain is n sessions, each made from the one before.
func chain(n int) []session.Head {
	heads := []session.Head{head(0)}
	for i := 1; i < n; i++ {
		heads = append(heads, head(i, i-1))
	}
	return heads
}

// star is a session and n-1 made from it; fan is that and one made from all of those.
func star(n int) []session.Head {
	heads := []session.Head{head(0)}
	for i := 1; i < n; i++ {
		heads = append(heads, head(i, 0))
	}
	return heads
}

func fan(n int) []session.Head {
	heads := star(n - 1)
	all := make([]int, 0, n)
	for i := 1; i < n-1; i++ {
		all = append(all, i)
	}
	return append(heads, head(n-1, all...))
}

// history is n sessions such as agents make: lines of forwards with their prompts, forks
// that run in parallel and are merged, and branches that nothing comes of.
func history(n int) []session.Head {
	r := rand.New(rand.NewPCG(1, 2))
	heads := make([]session.Head, 0, n)
	add := func(op session.Op, role session.Role, parents ...int) int {
		h := head(len(heads))
		h.Lineage.Op, h.Lineage.Path, h.Lineage.Run = op, fmt.Sprintf("review/step%d", len(heads)%7), fmt.Sprint("run", len(heads)/1000)
		for _, p := range parents {
			h.Lineage.Parents = append(h.Lineage.Parents, session.Parent{ID: id(p), Role: role})
		}
		heads = append(heads, h)
		return len(heads) - 1
	}
	forward := func(in, prompt int) int {
		out := add(session.OpForward, session.RoleInput, in)
		heads[out].Lineage.Parents = append(heads[out].Lineage.Parents, session.Parent{ID: id(prompt), Role: session.RolePrompt})
		return out
	}
	prompt := add(session.OpLeaf, "")
	heads[prompt].Usage = session.Usage{}
	at := add(session.OpLeaf, "")
	for len(heads) < n {
		switch r.IntN(8) {
		case 0:
			var ends []int
			for range 2 + r.IntN(4) {
				ends = append(ends, forward(add(session.OpFork, session.RoleInput, at), prompt))
			}
			at = add(session.OpMerge, session.RoleBranch, ends...)
		case 1:
			forward(add(session.OpFork, session.RoleInput, r.IntN(len(heads))), prompt)
		default:
			at = forward(at, prompt)
		}
	}
	return heads[:n]
}

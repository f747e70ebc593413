package graph_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/openrath-go/rath/graph"
	"github.com/openrath-go/rath/session"
)

// numbered makes ids and times that are the same every time.
func numbered() session.Mint {
	n := byte(0)
	return func() (session.ID, time.Time) {
		n++
		return session.ID{0: n}, time.Date(2026, 5, 4, 12, 0, int(n), 0, time.UTC)
	}
}

func say(text string) session.Chunk { return session.Assistant([]session.Part{session.Text(text)}) }

func Example() {
	base := session.Session{}.WithMint(numbered()).Append(session.User(session.Text("Name a color.")))
	red, blue := base.Fork(), base.Fork()
	red, blue = red.Append(say("red")), blue.Append(say("blue"))
	merged, err := session.Merge(red, blue)
	if err != nil {
		fmt.Println(err)
	}

	g := graph.Of(merged)
	if err := g.WriteText(os.Stdout, &graph.Options{Mark: blue.ID()}); err != nil {
		fmt.Println(err)
	}
	common, _ := g.CommonAncestor(red.ID(), blue.ID())
	fmt.Println(common == base.ID(), g.Totals(merged.ID()).Sessions)
	// Output:
	// * 06000000  merge  3 chunks  2026-05-04 12:00:06
	// |\
	// * | 04000000  append  2 chunks  2026-05-04 12:00:04
	// * | 02000000  fork  1 chunk  2026-05-04 12:00:02
	// | @ 05000000  append  2 chunks  2026-05-04 12:00:05
	// | * 03000000  fork  1 chunk  2026-05-04 12:00:03
	// |/
	// * 01000000  append  1 chunk  2026-05-04 12:00:01
	// true 6
}

func ExampleRecorder() {
	work := func(ctx context.Context, s session.Session) session.Session {
		s = s.Append(say("red"))
		graph.Record(ctx, s)
		return s
	}
	var rec graph.Recorder
	ctx := graph.WithRecorder(context.Background(), &rec)

	s := session.FromUser("Name a color.")
	s = work(ctx, s)
	s = work(graph.Off(ctx), s) // nobody needs to know
	s = work(ctx, s)
	for _, h := range rec.Visits() {
		fmt.Println(h.Lineage.Op, h.Len)
	}
	fmt.Println(rec.Graph().Len())
	// Output:
	// append 2
	// append 4
	// 2
}

func ExampleGraph_Filter() {
	first := session.FromUser("Name a color.")
	fork := first.Fork()
	last := fork.Append(say("red"))

	g := graph.Of(last).Filter(graph.Filter{Op: session.OpAppend})
	fmt.Println(g.Len(), len(g.Parents(last.ID())))
	g = graph.Of(last.Fork()).Filter(graph.Filter{Op: session.OpFork})
	for id := range g.Leaves() {
		for _, p := range g.Parents(id) {
			fmt.Println(p.ID == fork.ID(), p.Role, p.Elided)
		}
	}
	// Output:
	// 1 0
	// true input true
}

package session_test

import (
	"fmt"

	"github.com/openrath-go/rath/session"
)

func say(text string) session.Chunk { return session.Assistant([]session.Part{session.Text(text)}) }

func ExampleSession_Fork() {
	base := session.FromUser("Name a color.")
	red := base.Fork().Append(say("red"))
	blue := base.Fork().Append(say("blue"))
	fmt.Println(base.Len(), red.Text(), blue.Text())
	// Output: 1 red blue
}

func ExampleMerge() {
	base := session.FromUser("Name a color.")
	merged, err := session.Merge(base.Fork().Append(say("red")), base.Fork().Append(say("blue")))
	for i, c := range merged.All() {
		fmt.Println(i, c.Kind(), c.Text())
	}
	fmt.Println(err)
	// Output:
	// 0 user Name a color.
	// 1 assistant red
	// 2 assistant blue
	// <nil>
}

func ExampleDiff() {
	base := session.FromUser("Name a color.")
	d := session.Diff(base.Append(say("red")), base.Append(say("blue"), say("green")))
	fmt.Println(d.Common, len(d.OnlyA), len(d.OnlyB))
	// Output: 1 1 2
}

func ExampleSession_ForkAt() {
	s := session.New(
		session.Assistant(nil, session.Call{ID: "c", Name: "read", Arguments: "{}"}),
		session.ToolResult(session.Answer{CallID: "c", Tool: "read"}, session.Text("...")),
	)
	_, err := s.ForkAt(1)
	fmt.Println(err != nil)
	// Output: true
}

func ExampleTranscript_Digest() {
	a := session.New(session.User(session.Text("hi")), say("hello"))
	b := session.FromUser("hi").Fork().Append(say("hello"))
	fmt.Println(a.ID() == b.ID(), a.Digest() == b.Digest())
	// Output: false true
}

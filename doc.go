// Package rath is the first page of a tour through the packages of Rath: OpenRath's programming
// model in Go, in which agents are layers over a flowing session. It has no code of its own.
//
// What flows is a [github.com/openrath-go/rath/session.Session], an immutable value: what was
// said, where tools run, what it came from, what it cost. What does work is a
// [github.com/openrath-go/rath/flow.Workflow]: it takes a session and gives the next. Who knows
// PyTorch knows the shape: a session is the tensor, a sandbox its device, a tool a function, an
// agent a layer, a workflow a module, memory the parameters, and lineage the autograd graph.
//
// The tour goes through the value and its places first, then through what is made of them, then
// through what becomes of it:
//
//   - [github.com/openrath-go/rath/session]: the value that flows
//   - [github.com/openrath-go/rath/sandbox]: where tools run
//   - [github.com/openrath-go/rath/tool]: what a model may call
//   - [github.com/openrath-go/rath/llm]: models
//   - [github.com/openrath-go/rath/flow]: agents and workflows
//   - [github.com/openrath-go/rath/effect]: the seam through which passes what cannot be computed
//   - [github.com/openrath-go/rath/run]: durable runs, replay
//   - [github.com/openrath-go/rath/store]: where it is kept
//   - [github.com/openrath-go/rath/graph]: where sessions come from
//   - [github.com/openrath-go/rath/evidence]: what can be shown to others
//   - [github.com/openrath-go/rath/memory]: what survives between runs
//   - [github.com/openrath-go/rath/workspace]: files, forked and merged
//
// Then come the drivers: each is a folder below its plane, and opens the plane's type. Programs
// to run and to change are in docs/tutorial, one idea a page.
//
// Next: [github.com/openrath-go/rath/session].
package rath

// Package graph shows where sessions come from: the graph of their lineage, whose nodes
// are [session.Head] values and whose edges lead from parents to children.
//
// A [Graph] is built once, by [New] from the heads of a store, by [Of] from sessions in
// memory, or by a [Recorder] from the sessions that a piece of work visits, and does not
// change afterwards. It answers what a session came from, what became of it, and what it
// all cost, and draws itself: [Graph.WriteText] in the manner of git log --graph,
// [Graph.WriteSVG], [Graph.WriteDOT], [Graph.WriteMermaid]; [Graph.WriteJSON] and
// [Graph.WriteOpenRath] are for programs. [Graph.Layout] is the drawing as data.
//
// Sessions that are named as parents and are not there are kept by their ids: they are
// absent, a part of the lineage of which nothing more is known. Everywhere a session's
// ancestors are the sessions that it comes from, itself left out.
//
// Nothing here recurses: a chain may be as long as memory allows.
//
// Next: [github.com/openrath-go/rath/evidence], which puts all of it into one file for others.
package graph

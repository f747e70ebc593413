// Package session holds the value that flows through every agent: the Session.
//
// A [Session] is immutable: an ordered [Transcript] of chunks, a placement (the
// sandbox its tools run in), a lineage (the sessions it came from) and the usage
// that making it cost. Copy it freely and share it between goroutines; the zero
// Session is the empty session.
//
// Transcripts are persistent: a fork shares every chunk with its parent, an append
// never copies what is already there, and no aliasing can be observed. Their
// [Digest] is a hash chain over canonical JSON (docs/formats/digest.md), so equal
// digests mean equal transcripts.
//
// A session keeps its parents reachable, as a tensor keeps its autograd graph;
// [Session.Detach] lets them go.
//
// Next: [github.com/openrath-go/rath/sandbox], where a session's tools run.
package session

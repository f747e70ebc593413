// Package evidence makes dossiers: what a store knows of a run or a session, in one file
// that can be read, passed on, and checked without the store.
//
// A [Dossier] has two halves. Its [Records] are what was kept as it happened: the events
// of runs with their hash chain, the sessions, their transcripts and contents by digest.
// Its [Findings] answer the questions that people have (who made the answer, with what,
// what was refused, what it cost) and follow from the records alone.
//
// Secrets are taken out of the records before anything is made of them; see [Options].
//
// A dossier is written as JSON, Markdown or HTML. Each file carries all of the dossier and
// a seal over its own bytes, and [Verify] recomputes every digest in it. A seal is no
// signature: who can write a file can seal it. It tells that a file was changed after it
// was written only to those who have the seal from elsewhere, or who trust who kept it.
// The formats are described in docs/formats/dossier.md.
//
// Next: [github.com/openrath-go/rath/memory], what survives between runs.
package evidence

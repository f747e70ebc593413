// Package memory measures how well and how fast package memory/local finds notes, beside
// a BM25 written for this bench alone and beside OpenRath's way of reading every file.
// Its tests print tables; figures are in bench/RESULTS.md.
//
//	go test -v -count=1 -timeout 30m -run Quality ./bench/memory -args -full
//	go test -v -count=1 -run Speed ./bench/memory -args -full
//
// Models of the npm registry are measured too if it is told where they are, with -sentence
// and -wink.
package memory

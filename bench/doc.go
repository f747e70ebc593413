// Package bench measures Rath beside the same work written by hand, in one run. Figures
// are in RESULTS.md.
package bench

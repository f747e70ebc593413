package cli

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestProgress(t *testing.T) {
	for _, test := range []struct {
		name     string
		terminal bool
		asJSON   bool
		total    int
		took     time.Duration
		want     string // the last that it says
	}{
		{name: "short", terminal: true, total: 9, took: progressAfter / 2},
		{name: "no terminal", total: 9, took: time.Minute},
		{name: "JSON", terminal: true, asJSON: true, total: 9, took: time.Minute},
		{name: "known", terminal: true, total: 9, took: 3*time.Second + progressEvery/2, want: "work: 4 of 9, 3s"},
		{name: "counted", terminal: true, took: 3*time.Second + progressEvery/2, want: "work: 4, 3s"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				a := &app{err: &out, asJSON: test.asJSON, terminal: terminals{err: test.terminal}}
				p := a.progress("work", test.total)
				p.done.Add(4)
				time.Sleep(test.took)
				p.stop()
				p.stop() // twice is no harm
				said := out.String()
				if test.want == "" {
					if said != "" {
						t.Errorf("%q", said)
					}
					return
				}
				const clear = "\r\x1b[K"
				lines := strings.Split(strings.TrimSuffix(said, clear), clear)
				if diff := cmp.Diff(test.want, lines[len(lines)-1]); diff != "" || !strings.HasSuffix(said, clear) {
					t.Errorf("%s\n%q", diff, said)
				}
			})
		})
	}
}

func TestComplaints(t *testing.T) {
	var out strings.Builder
	log := slog.New(complaints{w: &out}).With("run", 7)
	log.Info("nobody asked")
	log.Warn("it broke\x1b[2K", "error", "why\nnot", "stack", "long")
	if diff := cmp.Diff("warning: it broke\\x1b[2K; run: 7; error: why not\n", out.String()); diff != "" {
		t.Error(diff)
	}
}

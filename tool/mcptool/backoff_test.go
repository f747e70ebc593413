//go:build unix

package mcptool

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// While there is no connection, calls wait longer and longer before they try to make one,
// and not at all once there was one that worked.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		up, server := true, inMemory(newServer())
		var tries []time.Time
		c, err := Connect(t.Context(), Server{Name: "fake", Transport: func(ctx context.Context) (mcp.Transport, error) {
			if tries = append(tries, time.Now()); !up {
				return nil, errors.New("it is down")
			}
			return server.Transport(ctx)
		}}, &Options{Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		expect(t, c, "echo", `{"text":"hi"}`, "hi")
		lose := func() {
			c.abandon(c.current())
			tries = nil
		}
		lose()
		up = false
		for range 8 {
			expect(t, c, "echo", `{"text":"hi"}`, KindUnreachable)
		}
		first, last := tries[1].Sub(tries[0]), tries[7].Sub(tries[6])
		if len(tries) != 8 || first > time.Second || last < 2*time.Second || last > 30*time.Second {
			t.Errorf("%d tries, the first after %v and the last after %v", len(tries), first, last)
		}
		up = true
		expect(t, c, "echo", `{"text":"after"}`, "after")
		lose()
		begin := time.Now()
		expect(t, c, "echo", `{"text":"again"}`, "again")
		if waited := time.Since(begin); waited > 0 {
			t.Errorf("it waits %v for what works", waited)
		}
	})
}

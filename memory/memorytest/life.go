package memorytest

import (
	"context"
	"errors"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/session"
)

// operations are all that can be done with any store.
func (c check) operations() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"put": func(ctx context.Context) error {
			_, err := c.s.Put(ctx, driver.Replace, note(prefs.Join("late"), "late"))
			return err
		},
		"get":  func(ctx context.Context) error { _, err := c.s.Get(ctx, prefs.Join("a")); return err },
		"list": func(ctx context.Context) error { _, err := c.s.List(ctx, prefs); return err },
		"find": func(ctx context.Context) error {
			_, err := c.s.Find(ctx, driver.Query{Text: "x", Limit: 1})
			return err
		},
		"remove": func(ctx context.Context) error { _, err := c.s.Remove(ctx, prefs.Join("a"), false); return err },
		"move":   func(ctx context.Context) error { return c.s.Move(ctx, prefs.Join("a"), prefs.Join("b")) },
	}
}

// lifeRules are those of contexts and of the end.
var lifeRules = []rule{
	{"does nothing for who no longer waits", "a cancelled agent must not change anything", "", func(c check) {
		c.replace(string(prefs.Join("a")), "x")
		why := errors.New("enough of it")
		ctx, cancel := context.WithCancelCause(c.ctx)
		cancel(why)
		for name, do := range c.operations() {
			if err := do(ctx); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
				c.broken("%s under a context that has ended: %v", name, err)
			}
		}
		c.same([]string{"a"}, c.list(prefs), "what is there")
	}},
	{"ends", "who closed it must not lose what comes later unseen", "", func(c check) {
		c.replace(string(prefs.Join("a")), "x")
		c.must(c.s.Close(), "close")
		can := c.s.Capabilities()
		for name, do := range c.operations() {
			if name == "move" && !can.Move || name == "find" && !can.Lexical && !can.Semantic {
				continue
			}
			c.is(do(c.ctx), driver.ErrClosed, name+" after the end")
		}
		if a, ok := c.s.(driver.Archiver); ok {
			_, err := a.Archive(c.ctx, archive(session.FromUser("x")), true)
			c.is(err, driver.ErrClosed, "archive after the end")
		}
	}},
	{"refuses what it cannot do", "nothing is done halfway", "", func(c check) {
		c.replace(string(prefs.Join("a")), "x")
		if !c.s.Capabilities().Move {
			c.is(c.s.Move(c.ctx, prefs.Join("a"), prefs.Join("b")), driver.ErrUnsupported, "move")
		}
		if !c.s.Capabilities().Semantic {
			if f, err := c.s.Find(c.ctx, driver.Query{Text: "x", Match: driver.MatchMeaning, Limit: 1}); !errors.Is(err, driver.ErrUnsupported) && f.Notice == "" {
				c.broken("find by meaning: %+v, %v", f, err)
			}
		}
	}},
}

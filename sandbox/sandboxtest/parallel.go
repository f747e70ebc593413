package sandboxtest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/openrath-go/rath/sandbox"
)

// parallelRules are those of many callers at the same time.
var parallelRules = []rule{
	{"runs 64 commands at once", "many agents share one sandbox", "Exec", func(c check) {
		c.together(64, func(i int) error {
			want := fmt.Sprint(i, strings.Repeat("x", 1000), "\n")
			r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: `cat; echo "$A"`, Env: []string{"A=" + want[:len(want)-1]}, Stdin: strings.NewReader(want)})
			if err == nil && r.Stdout != want+want {
				err = fmt.Errorf("it gave %+v", r)
			}
			return err
		})
	}},
	{"waits for none of them to let another begin", "an agent may wait for what another does", "Exec Files", func(c check) {
		c.together(8, func(i int) error {
			r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: fmt.Sprintf(
				"echo >here.%d; until [ -e here.0 ] && [ -e here.%d ]; do sleep 0.02; done", i, (i+1)%8)})
			if err == nil && r.ExitCode != 0 {
				err = fmt.Errorf("it gave %+v", r)
			}
			return err
		})
	}},
	{"mixes files and commands", "tools of every kind run side by side", "Exec Files", func(c check) {
		c.together(32, func(i int) error {
			name := fmt.Sprintf("p/%d/file", i)
			if err := c.s.WriteFile(c.ctx, name, []byte(name)); err != nil {
				return err
			}
			r, err := c.s.Exec(c.ctx, sandbox.Command{Shell: "cat file; echo more >>file", Dir: fmt.Sprintf("p/%d", i)})
			if err != nil || r.Stdout != name {
				return fmt.Errorf("the command gave %+v, %w", r, err)
			}
			if data, err := c.s.ReadFile(c.ctx, name); err != nil || string(data) != name+"more\n" {
				return fmt.Errorf("the file holds %q, %w", data, err)
			}
			if i%2 == 0 {
				return nil
			}
			return c.s.Remove(c.ctx, fmt.Sprintf("p/%d", i))
		})
		if entries, err := c.s.List(c.ctx, "p"); len(entries) != 16 || err != nil {
			c.broken("%d folders of 16, %v", len(entries), err)
		}
	}},
	{"writes a file as a whole", "a reader must not see half of it", "Files", func(c check) {
		texts := []string{strings.Repeat("a", 1<<16), strings.Repeat("b", 1<<15)}
		c.write("whole", texts[0])
		c.together(16, func(i int) error {
			if i%2 == 0 {
				return c.s.WriteFile(c.ctx, "whole", []byte(texts[i/2%2]))
			}
			data, err := c.s.ReadFile(c.ctx, "whole")
			if err == nil && string(data) != texts[0] && string(data) != texts[1] {
				err = fmt.Errorf("%d bytes of neither text", len(data))
			}
			return err
		})
		if entries, err := c.s.List(c.ctx, "."); len(entries) != 1 || err != nil {
			c.broken("something was left behind: %v, %v", entries, err)
		}
	}},
}

// together does something n times at once.
func (c check) together(n int, do func(i int) error) {
	c.Helper()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if err := do(i); err != nil {
				c.broken("the %dth of %d: %v", i, n, err)
			}
		})
	}
	all.Wait()
}

package local

import (
	"context"
	"io"
	"os"
	"os/exec"
	"time"
)

// outlet passes on what a command writes. What was written before the command's end
// arrives however late this process comes to read it, which os/exec's own pipes do not
// promise once WaitDelay is over.
type outlet struct {
	r, w *os.File
	to   io.Writer
	done chan error
}

// outlets gives a command its outlets, for its standard output and its standard error.
func outlets(cmd *exec.Cmd, stdout, stderr io.Writer) (both []*outlet, err error) {
	for _, to := range []io.Writer{stdout, stderr} {
		o := &outlet{to: to, done: make(chan error, 1)}
		if o.r, o.w, err = os.Pipe(); err != nil {
			end(both, 0)
			return nil, err
		}
		go o.pass()
		both = append(both, o)
	}
	cmd.Stdout, cmd.Stderr = both[0].w, both[1].w
	return both, nil
}

// pass reads to the end, or until nobody takes what is read: that ends a command which
// writes more.
func (o *outlet) pass() {
	_, err := io.Copy(o.to, o.r)
	if !os.IsTimeout(err) {
		o.r.Close()
	}
	o.done <- err
}

// began closes this process's ends for writing: the command has its own, or was not begun.
func began(both []*outlet) {
	for _, o := range both {
		o.w.Close()
	}
}

// end waits until all has been read, or for so long where something that the command left
// in the background holds its streams. The error is that of who takes the output.
func end(both []*outlet, within time.Duration) (err error) {
	began(both)
	over, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, o := range both {
		failed := o.end(over.Done())
		if err == nil {
			err = failed
		}
	}
	return err
}

func (o *outlet) end(over <-chan struct{}) error {
	defer o.r.Close()
	select {
	case err := <-o.done:
		return err
	case <-over:
	}
	if o.r.SetReadDeadline(time.Now()) != nil {
		o.r.Close() // no such thing here
	}
	if err := <-o.done; !os.IsTimeout(err) {
		return nil // it came to its end meanwhile, or there are no deadlines here
	}
	return o.drain()
}

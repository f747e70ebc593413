package docker

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/internal/shell"
)

//go:embed clerk.sh
var clerkScript string

// clerk is a shell in the container that does one file operation after the other: to start
// a process there for each takes thirty times as long. Commands can do to it what they
// like, as it has their rights; then it fails, or lies about files that they can change
// anyway.
type clerk struct {
	conn net.Conn
	out  *bufio.Reader
}

const (
	maxIdle = 4               // clerks that wait for the next operation
	silence = 2 * time.Minute // after that, a clerk is given up: one that a command has stopped
)

// ask has a clerk call a function of its script, and returns what that prints.
func (b *box) ask(ctx context.Context, function string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(time.Second, func() {
		if b.paused(ctx) {
			cancel(errPaused)
		}
	}).Stop()
	for {
		c, fresh, err := b.clerk(ctx)
		if err != nil {
			return nil, err
		}
		out, status, err := c.call(ctx, function, args)
		if err == nil {
			b.release(c)
			return out, failure(status, out)
		}
		c.close()
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, os.ErrDeadlineExceeded), fresh && !b.revive(ctx):
			return nil, fmt.Errorf("the shell in the container: %w", err)
		}
	}
}

func (b *box) paused(ctx context.Context) bool {
	found, err := inspect(ctx, b.engine, b.container)
	return err == nil && found.State.Paused
}

// clerk returns an idle clerk, or a new one.
func (b *box) clerk(ctx context.Context) (c *clerk, fresh bool, err error) {
	select {
	case c := <-b.idle:
		return c, false, nil
	default:
	}
	conn, _, err := b.begin(ctx, []string{"/bin/sh", "-c", clerkScript + "serve"}, nil, true)
	if err != nil {
		return nil, true, err
	}
	return &clerk{conn.Conn, bufio.NewReader(&frames{r: conn.Reader})}, true, nil
}

func (b *box) release(c *clerk) {
	select {
	case b.idle <- c:
	default:
		c.close()
	}
}

func (c *clerk) close() { _ = c.conn.Close() }

// call writes a line, and reads until the mark that says it is done.
func (c *clerk) call(ctx context.Context, function string, args []string) ([]byte, int, error) {
	defer context.AfterFunc(ctx, c.close)()
	mark := "\n" + uuid.NewString() + " "
	line := fmt.Sprintf("%s %s </dev/null 2>&1; printf '\\n%s %%d\\n' $?\n", function, words(args), strings.TrimSpace(mark))
	if err := c.conn.SetDeadline(time.Now().Add(silence)); err != nil {
		return nil, 0, err
	}
	if _, err := io.WriteString(c.conn, line); err != nil {
		return nil, 0, err
	}
	var out []byte
	for {
		part, err := c.out.ReadSlice('\n')
		out = append(out, part...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, err
		}
		if err := c.conn.SetDeadline(time.Now().Add(silence)); err != nil {
			return nil, 0, err
		}
		tail := out[max(0, len(out)-len(mark)-len("255\n")):]
		if at := bytes.Index(tail, []byte(mark)); at >= 0 && err == nil {
			status, err := strconv.Atoi(string(bytes.TrimSpace(tail[at+len(mark):])))
			return out[:len(out)-len(tail)+at], status, err
		}
	}
}

// words quotes arguments so that they stay on one line: the script has a variable for the
// line feed.
func words(args []string) string {
	return strings.ReplaceAll(shell.Words(args...), "\n", `'"$n"'`)
}

// frames reads the standard output of a process out of the engine's stream.
type frames struct {
	r    io.Reader
	left uint32 // of the frame
}

func (f *frames) Read(p []byte) (int, error) {
	for f.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(f.r, head[:]); err != nil {
			return 0, err
		}
		f.left = binary.BigEndian.Uint32(head[4:])
		if stdcopy.StdType(head[0]) == stdcopy.Stdout {
			continue
		}
		if _, err := io.CopyN(io.Discard, f.r, int64(f.left)); err != nil {
			return 0, err
		}
		f.left = 0
	}
	n, err := f.r.Read(p[:min(len(p), int(f.left))])
	f.left -= uint32(n)
	return n, err
}

// What the script means by its statuses.
var statuses = map[int]error{
	101: driver.ErrNotRegular,
	102: fs.ErrPermission,
	103: syscall.ENOTDIR,
	104: fs.ErrNotExist,
	105: errors.New("too many levels of symbolic links"),
}

// reasons are what programs say, and what it is here.
var reasons = map[string]error{
	"No such file or directory": fs.ErrNotExist,
	"Not a directory":           syscall.ENOTDIR,
	"Is a directory":            driver.ErrNotRegular,
	"Permission denied":         fs.ErrPermission,
	"Operation not permitted":   fs.ErrPermission,
	"Read-only file system":     fmt.Errorf("it is read-only: %w", fs.ErrPermission),
	"Device or resource busy":   fmt.Errorf("something is mounted there: %w", fs.ErrPermission),
}

// failure makes an error of a status, and of what came with it.
func failure(status int, out []byte) error {
	if status == 0 {
		return nil
	}
	if err := statuses[status]; err != nil {
		return err
	}
	text := strings.TrimSpace(string(out))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	for reason, err := range reasons {
		if strings.HasSuffix(text, reason) {
			return err
		}
	}
	if text == "" {
		text = fmt.Sprintf("status %d", status)
	}
	return errors.New(text)
}

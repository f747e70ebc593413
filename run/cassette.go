package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/openrath-go/rath/effect"
	"github.com/openrath-go/rath/flow"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
)

// Cassette is a file of recorded effects, for tests: recorded once against the real
// thing, replayed ever after with nothing live. A program that asks for something that
// is not on the file gets a [*Divergence], which names the nearest recording; it never
// goes live.
type Cassette struct {
	Path string
	// Record runs live and writes the file. Set it from a flag of the test.
	Record bool
}

// ErrNoCassette is returned where the file is not there.
var ErrNoCassette = errors.New("nothing was recorded")

// Run runs a workflow as [flow.Forward] does, recording or replaying. An error of the
// workflow is recorded too, and comes back.
func (c Cassette) Run(ctx context.Context, w flow.Workflow, s session.Session) (session.Session, error) {
	if c.Record {
		return c.record(ctx, w, s)
	}
	effects, err := c.load()
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("replay cassette %s: %w", c.Path, ErrNoCassette)
	}
	if err != nil {
		return s, fmt.Errorf("replay cassette %s: %w", c.Path, err)
	}
	none := func(d session.Digest) ([]byte, error) { return nil, fmt.Errorf("object %s: %w", d, store.ErrNotFound) }
	return replay(ctx, newRecord(effects, none), store.Run{}, w, s)
}

// record runs live.
func (c Cassette) record(ctx context.Context, w flow.Workflow, s session.Session) (session.Session, error) {
	t := &tape{objects: map[session.Digest][]byte{}}
	j := newJournal(newRecord(nil, t.object), store.Head{}, time.Now)
	j.put = t.put
	out, err := flow.Forward(effect.WithJournal(ctx, j), "", w, s)
	j.stop(ErrOver)
	return out.WithMint(nil), errors.Join(err, c.save(t))
}

// tape keeps the events of a run in memory.
type tape struct {
	mu      sync.Mutex
	events  []store.Event
	objects map[session.Digest][]byte
}

func (t *tape) put(b store.Batch) store.Commit {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, b.Events...)
	for _, o := range b.Objects {
		t.objects[digestOf(o)] = o
	}
	done := make(chan error, 1)
	done <- nil
	return done
}

func (t *tape) object(d session.Digest) ([]byte, error) { return t.objects[d], nil }

// A cassette is JSON lines: a header, then one effect a line, whole.
type (
	cassetteHeader struct {
		Cassette int `json:"cassette"` // the version of the format
	}
	cassetteLine struct {
		store.Intent
		Value     json.RawMessage `json:"value,omitempty"`
		Error     string          `json:"error,omitempty"`
		Cancelled bool            `json:"cancelled,omitempty"`
		Open      bool            `json:"open,omitempty"` // under way when the workflow returned
	}
)

const cassetteVersion = 1

// save writes the file, whole or not at all.
func (c Cassette) save(t *tape) error {
	effects, err := store.Effects(func(yield func(store.Event, error) bool) {
		for _, e := range t.events {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	errs := []error{enc.Encode(cassetteHeader{cassetteVersion})}
	for _, x := range effects {
		line := cassetteLine{Intent: x.Intent, Error: x.Result.Error, Cancelled: x.Result.Cancelled, Open: !x.Done}
		var inErr, valueErr error
		line.Input, inErr = store.Unpack(x.Input, t.object)
		line.Value, valueErr = store.Unpack(x.Result.Value, t.object)
		errs = append(errs, inErr, valueErr, enc.Encode(line))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("write cassette %s: %w", c.Path, err)
	}
	return writeFile(c.Path, b.Bytes())
}

// writeFile replaces a file in one step.
func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// load reads the file as the effects of a run.
func (c Cassette) load() ([]*store.Effect, error) {
	data, err := os.ReadFile(c.Path)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	var header cassetteHeader
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &header) != nil || header.Cassette != cassetteVersion {
		return nil, fmt.Errorf("line 1 is no header of a cassette of version %d", cassetteVersion)
	}
	var effects []*store.Effect
	for n := int64(2); lines.Scan(); n++ {
		var line cassetteLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		effects = append(effects, &store.Effect{
			ID: n, Last: n, Intent: line.Intent, Done: !line.Open, Attempts: 1,
			Result: store.Result{Effect: n, Value: line.Value, Error: line.Error, Cancelled: line.Cancelled},
		})
	}
	return effects, lines.Err()
}

package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/openrath-go/rath/memory/driver"
	"github.com/openrath-go/rath/memory/resource"
	"github.com/openrath-go/rath/session"
)

// worker extracts the facts of what was committed, one transcript at a time.
type worker struct {
	store *Store
	d     driver.Archiver
	owner string
	kick  chan struct{}

	mu   sync.Mutex
	done map[session.Digest]outcome // of what somebody waits for
}

// outcome is what became of a job that this worker has done.
type outcome struct {
	notes []Note
	err   error
	over  bool
}

func newWorker(s *Store, d driver.Archiver) *worker {
	w := &worker{store: s, d: d, owner: uuid.NewString(), kick: make(chan struct{}, 1), done: map[session.Digest]outcome{}}
	w.wake() // for what an earlier process has left
	return w
}

// wake has the worker look for jobs.
func (w *worker) wake() {
	select {
	case w.kick <- struct{}{}:
	default:
	}
}

// patrol is how often a worker looks for what other processes have left.
const patrol = 20 * time.Second

func (w *worker) loop() {
	life := w.store.life
	ticker := time.NewTicker(patrol)
	defer ticker.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-ticker.C:
		case <-w.kick:
		}
		for life.Err() == nil && w.next(life) {
		}
	}
}

// next does a job and reports whether there was one.
func (w *worker) next(ctx context.Context) bool {
	job, ok, err := w.d.Claim(ctx, w.owner)
	if err != nil {
		w.complain(ctx, "claim a job", err)
		return false
	}
	if !ok {
		return false
	}
	notes, err := w.extract(ctx, job)
	if err == nil {
		err = w.d.Finish(context.WithoutCancel(ctx), job, notes)
	}
	if err != nil {
		w.putBack(ctx, job, err)
	}
	w.complain(ctx, "extract facts of session "+job.Archive.Session.String(), err)
	w.tell(job.Archive.Digest, outcome{notes, err, err == nil})
	return true
}

// putBack leaves a job for later. That the program ends is not the job's fault.
func (w *worker) putBack(ctx context.Context, job driver.Job, why error) {
	if ctx.Err() != nil {
		w.complain(ctx, "put a job back", w.d.Release(context.WithoutCancel(ctx), job))
		return
	}
	w.complain(ctx, "put a job back", w.d.Fail(ctx, job, why.Error()))
}

func (w *worker) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		w.store.opts.Log.Warn("memory "+w.store.opts.Name+": could not "+what, "error", err)
	}
}

// renewal is how often a job in work is claimed anew, where the driver does not say.
const renewal = 10 * time.Second

// extract reads what is new in a transcript. The job is lost when another has it.
func (w *worker) extract(ctx context.Context, job driver.Job) ([]Note, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopped := make(chan struct{})
	defer func() { <-stopped }()
	defer cancel(nil)
	go func() {
		defer close(stopped)
		w.renew(ctx, job, cancel)
	}()
	h := harvest{store: w.store, of: job.Archive, at: job.Archive.Time}
	for part := range windows(job.Archive.Transcript, job.From) {
		if err := w.read(ctx, &h, part); err != nil {
			return nil, err
		}
	}
	return h.notes, context.Cause(ctx)
}

// read has the facts of a part extracted. Notes of this job that are not kept yet are known
// too.
func (w *worker) read(ctx context.Context, h *harvest, part part) error {
	known, err := w.known(ctx, part.lines)
	if err != nil {
		return err
	}
	h.known = map[URI]Note{}
	for _, n := range append(known, h.notes...) {
		h.known[n.URI] = n
	}
	shown := make([]Note, 0, len(h.known))
	for _, uri := range slices.Sorted(maps.Keys(h.known)) {
		n := h.known[uri]
		n.Text = cutTokens(n.Text, knownTokens)
		shown = append(shown, n)
	}
	facts, err := w.store.opts.Extractor.Extract(ctx, Extraction{part.lines, shown})
	if err != nil {
		return err
	}
	return h.add(ctx, facts, part)
}

func (w *worker) renew(ctx context.Context, job driver.Job, lost context.CancelCauseFunc) {
	ticker := time.NewTicker(cmp.Or(job.Lease/3, renewal))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := w.d.Renew(ctx, job); err != nil {
				lost(err)
				return
			}
		}
	}
}

// The notes that an extractor is shown for each part of a transcript.
const (
	maxKnown    = 16
	knownTokens = 200 // of each
)

// known are notes that lines may be about.
func (w *worker) known(ctx context.Context, lines []Line) ([]Note, error) {
	var text strings.Builder
	for _, l := range lines {
		if l.Kind != session.KindToolResult {
			fmt.Fprintln(&text, l.Text)
		}
	}
	query := tail(text.String(), maxQuery)
	if strings.TrimSpace(query) == "" {
		return nil, nil
	}
	under := []URI{driver.Root.Join(driver.ScopeUser), driver.Root.Join(driver.ScopeAgent)}
	found, err := w.store.d.Find(ctx, driver.Query{Text: query, Under: under, Limit: maxKnown})
	var notes []Note
	for _, h := range found.Hits {
		n, err := w.store.d.Get(ctx, h.URI)
		if err == nil {
			notes = append(notes, n)
		}
	}
	return notes, err
}

// The sizes of what an extractor reads at once, in tokens.
const (
	windowTokens = 6000
	lineTokens   = 2000 // of one chunk: more of a tool's output has no more facts
)

// part is what an extractor reads at once. What a tool, or a document, has put into a
// conversation is tainted, and so is what was said of it: whoever reads that may be made to
// say that the user said it. So what is clean is read alone before.
type part struct {
	lines   []Line
	tainted bool
}

// windows yields a transcript from a chunk on in parts: what is clean, and then, if there
// is more, all of it.
func windows(t session.Transcript, from int) iter.Seq[part] {
	return func(yield func(part) bool) {
		var clean, all []Line
		tainted := false
		for i, c := range t.All() {
			text := strings.TrimSpace(Unmarked(c))
			tainted = tainted || text != "" && taints(c)
			if i < from || text == "" || c.Kind() == session.KindSystem {
				continue
			}
			line := Line{i + 1, c.Kind(), cutTokens(text, lineTokens)}
			if all = append(all, line); !tainted || c.Kind() == session.KindUser && !taints(c) {
				clean = append(clean, line)
			}
		}
		if inWindows(clean, false, yield) && len(all) > len(clean) {
			inWindows(all, true, yield)
		}
	}
}

// taints reports whether a chunk has in it what neither the user nor the model said. A
// summary may have anything in it.
func taints(c session.Chunk) bool {
	if c.Kind() == session.KindToolResult {
		return true
	}
	for p := range c.Parts() {
		if strings.HasPrefix(p.URL, summaryScheme) {
			return true
		}
	}
	return false
}

// summaryScheme begins the URL of a text that stands for a part of a conversation: see
// [github.com/openrath-go/rath/flow.Compressor].
const summaryScheme = "transcript:"

// Tainted reports whether a conversation has in it what neither the user nor the model
// said, or what was recalled and was not said by them either.
func Tainted(s session.Session) bool {
	for _, c := range s.All() {
		if taints(c) && Unmarked(c) != "" {
			return true
		}
		for p := range c.Parts() {
			if _, trust := MarkedTrust(p); Marked(p) && trust != TrustUser && trust != TrustAgent {
				return true
			}
		}
	}
	for _, e := range s.Lineage().Extras {
		if e.Key == TrustExtra && Trust(e.Value) != TrustUser && Trust(e.Value) != TrustAgent {
			return true
		}
	}
	return false
}

func inWindows(lines []Line, tainted bool, yield func(part) bool) bool {
	from, size := 0, 0
	for i, l := range lines {
		n := resource.Tokens(l.Text)
		if size+n > windowTokens && i > from {
			if !yield(part{lines[from:i], tainted}) {
				return false
			}
			from, size = i, 0
		}
		size += n
	}
	return from == len(lines) || yield(part{lines[from:], tainted})
}

// tell keeps an outcome for who waits for it.
func (w *worker) tell(d session.Digest, o outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, awaited := w.done[d]; awaited {
		w.done[d] = o
	}
}

// await waits until a commit is done, by this worker or by another process.
func (w *worker) await(ctx context.Context, a Archive) ([]Note, error) {
	w.mu.Lock()
	w.done[a.Digest] = outcome{}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.done, a.Digest)
		w.mu.Unlock()
	}()
	for {
		w.wake()
		if err := w.sleep(ctx); err != nil {
			return nil, err
		}
		w.mu.Lock()
		o := w.done[a.Digest]
		w.mu.Unlock()
		switch {
		case o.err != nil:
			return nil, fmt.Errorf("%w: %w", errFailed, o.err)
		case o.over:
			return o.notes, nil
		}
		if state, err := w.state(ctx, a); err != nil || state != Queued {
			return nil, err
		}
	}
}

// state is how far an archive has come.
func (w *worker) state(ctx context.Context, a Archive) (driver.State, error) {
	list, err := w.d.Archives(ctx, a.Session)
	for _, other := range list {
		if other.Digest == a.Digest {
			return other.State, err
		}
	}
	return Queued, err
}

func (w *worker) sleep(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-w.store.life.Done():
		return ErrClosed
	case <-time.After(pause):
		return nil
	}
}

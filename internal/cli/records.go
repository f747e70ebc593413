package cli

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"syscall"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/openrath-go/rath/store/jsonl"
	"github.com/openrath-go/rath/store/sqlite"
	"github.com/spf13/cobra"
)

// records are what happened: the store in the OpenRath home, and the session files of
// OpenRath's beside it.
type records struct {
	store.Store
	home  string
	files jsonl.Dir
}

// storeFile is the store's name in the home.
const storeFile = "rath.db"

// storeFiles are the ends of the names of the files that belong to it.
var storeFiles = []string{"", "-wal", "-shm"}

// access says what a command does with the records.
type access int

const (
	reading  access = iota // nothing is written, nothing is made
	changing               // what is there is changed
	adding                 // the store is made if it is not there
)

// withRecords makes the RunE of a command that needs the records. They are open while it
// runs.
func (a *app) withRecords(how access, do func(ctx context.Context, r *records, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.useRecords(cmd.Context(), how, func(r *records) error { return do(cmd.Context(), r, args) })
	}
}

func (a *app) useRecords(ctx context.Context, how access, do func(r *records) error) error {
	r, err := a.openRecords(ctx, how)
	if err != nil {
		return err
	}
	err = do(r)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	return err
}

func (a *app) openRecords(ctx context.Context, how access) (*records, error) {
	home, _, err := config.Home(a.env)
	if err != nil {
		return nil, err
	}
	r := &records{home: home, files: jsonl.Dir(filepath.Join(home, "sessions"))}
	r.Store, err = openStore(ctx, filepath.Join(home, storeFile), how)
	return r, storeHint(err)
}

func openStore(ctx context.Context, path string, how access) (store.Store, error) {
	if how == adding {
		return sqlite.Open(ctx, path, nil)
	}
	st, err := sqlite.Open(ctx, path, &sqlite.Options{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return noStore{}, nil
	}
	if err != nil || how == reading {
		return st, err
	}
	if err := st.Close(); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, path, nil)
}

// storeHint says what to do about a home that nothing can be kept in.
func storeHint(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrExist), errors.Is(err, syscall.EROFS):
		return &hinted{err, "make the OpenRath home writable, or choose another with OPENRATH_HOME"}
	case hintOf(err) != "":
		return err
	}
	return &hinted{err, "check the disk that holds the OpenRath home, or choose another with OPENRATH_HOME"}
}

// noStore stands for the store where nothing was kept yet. Who only looks for something
// finds nothing; who adds to a store opens a real one.
type noStore struct{ store.Store }

func (noStore) Close() error { return nil }

func (noStore) Session(context.Context, session.ID) (session.Session, error) {
	return session.Session{}, store.ErrNotFound
}

func (noStore) Heads(context.Context, store.SessionFilter) iter.Seq2[session.Head, error] {
	return func(func(session.Head, error) bool) {}
}

func (noStore) Runs(context.Context, store.RunFilter) iter.Seq2[store.Run, error] {
	return func(func(store.Run, error) bool) {}
}

func (noStore) Run(context.Context, session.ID) (store.Run, error) {
	return store.Run{}, store.ErrNotFound
}

func (noStore) Collect(context.Context, store.Collection) (store.Collected, error) {
	return store.Collected{}, nil
}

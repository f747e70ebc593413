package registry

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/openrath-go/rath/sandbox/driver"
)

const (
	schemaVersion = 1
	suffix        = ".json"
	temporary     = ".new-"
)

// record is an entry's file, in OpenRath's form.
type record struct {
	SchemaVersion int            `json:"schema_version"`
	ID            string         `json:"id"`
	Backend       string         `json:"backend"`
	RemoteID      string         `json:"remote_id"`
	Spec          *spec          `json:"spec"`
	CreatedAt     string         `json:"created_at"`
	LastUsedAt    string         `json:"last_used_at"`
	Rath          *own           `json:"rath,omitempty"`
	Rest          jsontext.Value `json:",embed"`
}

// spec is what a sandbox was made of.
type spec struct {
	Image          *string            `json:"image"`
	Entrypoint     *[]string          `json:"entrypoint"`
	Env            *map[string]string `json:"env"`
	TimeoutSeconds *float64           `json:"timeout_seconds"`
	WorkingDir     *string            `json:"working_dir"`
	Rest           jsontext.Value     `json:",embed"`
}

// own is what OpenRath does not know.
type own struct {
	Name   string         `json:"name"`
	Policy *policy        `json:"policy"`
	Rest   jsontext.Value `json:",embed"`
}

type policy struct {
	Level     string         `json:"level,omitempty"`
	Network   driver.Network `json:"network,omitempty"`
	ReadOnly  []string       `json:"read_only,omitempty"`
	Writable  []string       `json:"writable,omitempty"`
	Env       []string       `json:"env,omitempty"`
	CPU       float64        `json:"cpu_seconds,omitzero"`
	Memory    int64          `json:"memory_bytes,omitzero"`
	FileSize  int64          `json:"file_size_bytes,omitzero"`
	Processes int            `json:"processes,omitzero"`
	OpenFiles int            `json:"open_files,omitzero"`
	Rest      jsontext.Value `json:",embed"`
}

func (r *Registry) file(folder, id string) string { return filepath.Join(r.dir, folder, id+suffix) }

// workspace is the directory of a local sandbox that has none elsewhere.
func (r *Registry) workspace(id string) string { return filepath.Join(r.dir, local, id) }

// load reads the file of an entry.
func (r *Registry) load(folder, id string) (rec record, err error) {
	data, err := os.ReadFile(r.file(folder, id))
	if err != nil {
		return rec, err
	}
	if err = json.Unmarshal(data, &rec); err == nil {
		err = rec.check(folder, id)
	}
	if err != nil {
		return rec, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return rec, nil
}

func (rec record) check(folder, id string) error {
	switch {
	case rec.SchemaVersion > schemaVersion:
		return fmt.Errorf("version %d is newer than this program, which knows %d", rec.SchemaVersion, schemaVersion)
	case rec.ID != id:
		return fmt.Errorf("it has the id %q", rec.ID)
	case rec.Backend == "", (rec.Backend == local) != (folder == local):
		return fmt.Errorf("it has the backend %q", rec.Backend)
	case folder != local && rec.RemoteID == "":
		return errors.New("it names no sandbox")
	case rec.Rath != nil && rec.Rath.Policy != nil:
		return rec.Rath.Policy.check()
	}
	return nil
}

// check refuses rules that would otherwise be left out of what a sandbox is kept to.
func (p *policy) check() error {
	switch {
	case len(p.Rest) > 0:
		return fmt.Errorf("rath.policy has rules that this program does not know: %s", p.Rest)
	case p.CPU < 0, p.Memory < 0, p.FileSize < 0, p.Processes < 0, p.OpenFiles < 0:
		return errors.New("rath.policy has a limit that is less than nothing")
	case p.CPU >= math.MaxInt64/float64(time.Second):
		return fmt.Errorf("rath.policy has the limit cpu_seconds: %g", p.CPU)
	}
	return nil
}

// read returns an entry. A directory without a file is one that OpenRath has made.
func (r *Registry) read(folder, id string) (Entry, error) {
	rec, err := r.load(folder, id)
	if !errors.Is(err, fs.ErrNotExist) || folder != local {
		return r.entry(rec, folder), err
	}
	dir := r.workspace(id)
	info, err := os.Stat(dir)
	if err != nil {
		return Entry{}, err
	}
	return Entry{
		ID: id, Backend: local, Owned: true, Spec: driver.Spec{WorkingDir: dir},
		Created: info.ModTime(), Used: info.ModTime(), folder: folder,
	}, nil
}

func (r *Registry) entry(rec record, folder string) Entry {
	e := Entry{ID: rec.ID, Backend: rec.Backend, Remote: rec.RemoteID, folder: folder}
	e.Created, _ = time.Parse(time.RFC3339Nano, rec.CreatedAt)
	e.Used, _ = time.Parse(time.RFC3339Nano, rec.LastUsedAt)
	if s := rec.Spec; s != nil {
		e.Spec = driver.Spec{Image: value(s.Image), Entrypoint: value(s.Entrypoint), Env: value(s.Env), WorkingDir: value(s.WorkingDir)}
		e.Spec.Timeout = time.Duration(value(s.TimeoutSeconds) * float64(time.Second))
	}
	if rec.Rath != nil {
		e.Name, e.Policy = rec.Rath.Name, rec.Rath.Policy.value()
	}
	if folder == local && e.Spec.WorkingDir == "" {
		e.Owned, e.Spec.WorkingDir = true, r.workspace(rec.ID)
	}
	return e
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// pointer is nil for the zero value of a scalar.
func pointer[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

func (p *policy) value() driver.Policy {
	if p == nil {
		return driver.Policy{}
	}
	return driver.Policy{
		Level: p.Level, Network: p.Network, ReadOnly: p.ReadOnly, Writable: p.Writable, Env: p.Env,
		Limits: driver.Limits{
			CPU: time.Duration(p.CPU * float64(time.Second)), Memory: p.Memory, FileSize: p.FileSize,
			Processes: p.Processes, OpenFiles: p.OpenFiles,
		},
	}
}

// recordOf makes the file of a new entry.
func recordOf(e Entry) record {
	rec := record{
		SchemaVersion: schemaVersion, ID: e.ID, Backend: e.Backend, RemoteID: e.Remote,
		CreatedAt: isoFormat(e.Created), LastUsedAt: isoFormat(e.Used), Rath: &own{Name: e.Name},
	}
	rec.Spec = &spec{Image: pointer(e.Spec.Image), TimeoutSeconds: pointer(e.Spec.Timeout.Seconds())}
	if e.Spec.Entrypoint != nil {
		rec.Spec.Entrypoint = &e.Spec.Entrypoint
	}
	if e.Spec.Env != nil {
		rec.Spec.Env = &e.Spec.Env
	}
	if !e.Owned {
		rec.Spec.WorkingDir = pointer(e.Spec.WorkingDir)
	}
	p, l := e.Policy, e.Policy.Limits
	rec.Rath.Policy = &policy{
		Level: p.Level, Network: p.Network, ReadOnly: p.ReadOnly, Writable: p.Writable, Env: p.Env,
		CPU: l.CPU.Seconds(), Memory: l.Memory, FileSize: l.FileSize, Processes: l.Processes, OpenFiles: l.OpenFiles,
	}
	return rec
}

// save writes a record.
func (r *Registry) save(folder string, rec record) error {
	data, err := json.Marshal(rec, jsontext.Multiline(true), jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return replace(r.file(folder, rec.ID), append(data, '\n'))
}

// replace writes a file as a whole or not at all, for its owner's eyes only.
func replace(file string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), temporary+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// isoFormat writes a time as Python's datetime.isoformat does.
func isoFormat(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000-07:00") }

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/openrath-go/rath/internal/config"
	"github.com/openrath-go/rath/llm/offline"
	"github.com/openrath-go/rath/session"
	"github.com/openrath-go/rath/store"
	"github.com/spf13/cobra"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Show what rath would use here, and what is wrong with it",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
}

// finding is one line of the doctor's.
type finding struct {
	About string `json:"about"`
	State string `json:"state"` // ok, note or problem
	Text  string `json:"text"`
}

func (a *app) doctor(ctx context.Context) error {
	found := []finding{{"rath", "ok", version() + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH}}
	found = append(found, a.examineHome()...)
	found = append(found, a.examineStore(ctx)...)
	found = append(found, a.examineMemories(ctx)...)
	found = append(found, a.examineSandbox(ctx)...)
	found = append(found, a.examineTelemetry()...)
	problems := 0
	for _, f := range found {
		if f.State == "problem" {
			problems++
		}
		if a.asJSON {
			if err := a.writeJSON(f); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(a.out, "%-8s %-8s %s\n", f.State, f.About, printable(f.Text))
	}
	if problems > 0 {
		return fmt.Errorf("doctor: problems found: %d", problems)
	}
	return nil
}

func (a *app) examineHome() []finding {
	dir, origin, err := config.Home(a.env)
	if err != nil {
		return []finding{{"home", "problem", withHint(err)}}
	}
	found := []finding{{"home", "ok", fmt.Sprintf("%s (%s)", dir, origin)}}
	if err := writable(dir); err != nil {
		found = append(found, finding{"home", "problem", "nothing can be kept: " + err.Error()})
	}
	c, err := config.Load(dir)
	if err != nil {
		return append(found, finding{"config", "problem", withHint(err)})
	}
	if _, err := os.Stat(c.File()); err == nil {
		found = append(found, finding{"config", "ok", c.File()})
	} else {
		found = append(found, finding{"config", "note", "there is none: rath config set makes it"})
	}
	for _, w := range append(c.Warnings(), c.Unknown()...) {
		found = append(found, finding{"config", "note", w})
	}
	if _, err := c.Patterns(); err != nil {
		found = append(found, finding{"config", "problem", withHint(err)})
	}
	return append(found, a.examineModel(c)...)
}

// writable tries the folder, or the nearest one above it that exists, with as much as a
// short run writes.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// examineStore opens the store as a run does.
func (a *app) examineStore(ctx context.Context) []finding {
	home, _, err := config.Home(a.env)
	if err != nil {
		return nil // the home's finding says so
	}
	path := filepath.Join(home, storeFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"store", "note", "there is none yet: rath run makes " + path}}
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // before the store has locks on it
	if err != nil {
		return []finding{{"store", "problem", withHint(storeHint(err))}}
	}
	f.Close()
	r, err := a.openRecords(ctx, adding)
	if err != nil {
		return []finding{{"store", "problem", withHint(err)}}
	}
	defer r.Close()
	text, err := r.describe(ctx, path)
	if err != nil {
		return []finding{{"store", "problem", withHint(storeHint(err))}}
	}
	found := []finding{{"store", "ok", text}}
	for _, problem := range r.damages(ctx) {
		found = append(found, finding{"store", "problem", problem})
	}
	return found
}

// damages reads the newest run, with all that it did and made, and says what of it cannot
// be read.
func (r *records) damages(ctx context.Context) (problems []string) {
	runs, err := collect(r.Runs(ctx, store.RunFilter{Newest: true, Limit: 1}))
	if err != nil || len(runs) == 0 {
		return nil // describe has read them all
	}
	note := func(text string) {
		if text != "" {
			problems = append(problems, "run "+runs[0].ID.String()+": "+text)
		}
	}
	d, err := r.details(ctx, runs[0])
	if err != nil {
		note(withHint(storeFailure(err)))
	}
	note(d.Problem)
	for _, e := range d.Effects {
		if e.Problem != "" {
			note(fmt.Sprintf("effect %d: %s", e.ID, e.Problem))
		}
	}
	for _, id := range []session.ID{runs[0].Input, runs[0].Output} {
		if id.IsZero() {
			continue
		}
		if _, err := r.Session(ctx, id); err != nil {
			note(err.Error())
		}
	}
	return problems
}

// describe counts what is in the store.
func (r *records) describe(ctx context.Context, path string) (string, error) {
	sessions, runs := 0, 0
	for _, err := range r.Heads(ctx, store.SessionFilter{}) {
		if err != nil {
			return "", err
		}
		sessions++
	}
	for _, err := range r.Runs(ctx, store.RunFilter{}) {
		if err != nil {
			return "", err
		}
		runs++
	}
	var size int64
	for _, end := range storeFiles {
		if info, err := os.Stat(path + end); err == nil {
			size += info.Size()
		}
	}
	return fmt.Sprintf("%s, %s, %s, %s", path, amount(size), plural(sessions, "session"), plural(runs, "run")), nil
}

func (a *app) examineModel(c *config.Config) []finding {
	chosen, err := choose(c, a.env, "", "")
	if err != nil {
		return []finding{{"model", "problem", withHint(err)}}
	}
	found := []finding{{"model", "ok", fmt.Sprintf("%s:%s (%s)", chosen.scheme, chosen.name, chosen.why)}}
	if chosen.scheme == "offline" {
		return append(found, finding{"model", "note", offline.Notice + "; " + anotherModel})
	}
	for _, field := range slices.Sorted(maps.Keys(chosen.provider.Origins)) {
		value := map[string]string{
			"api_key": keyShown(chosen.provider.APIKey), "base_url": chosen.provider.Server(),
			"model": chosen.provider.Model, "api_version": chosen.provider.APIVersion,
			"max_tokens": fmt.Sprint(chosen.provider.MaxTokens),
		}[field]
		found = append(found, finding{"model", "ok", fmt.Sprintf("%s %s (%s)", field, value, chosen.provider.Origins[field])})
	}
	if _, err := chosen.open(0); err != nil {
		found = append(found, finding{"model", "problem", withHint(err)})
	}
	return found
}

// anotherModel is how to come to a model that asks a server.
const anotherModel = "export OPENAI_API_KEY or ANTHROPIC_API_KEY, then --model openai:NAME or anthropic:NAME"

func keyShown(key string) string {
	if key == "" {
		return "none"
	}
	return config.Redact(key)
}

func withHint(err error) string {
	if h := hintOf(err); h != "" {
		return err.Error() + "; " + h
	}
	return err.Error()
}

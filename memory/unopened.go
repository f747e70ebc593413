package memory

import (
	"context"
	"errors"

	"github.com/openrath-go/rath/memory/driver"
)

// errUnopened is what a store says that was not opened, when something is not on record.
var errUnopened = errors.New("it was not opened, for a replay has all from the record")

// Unopened is a store that keeps nothing and finds nothing: with a journal, what it gives is
// what was recorded of the store of that name. It is for replays.
func Unopened(name string) *Store { return New(unopened{}, &Options{Name: name}) }

type unopened struct{}

func (unopened) Capabilities() Capabilities { return Capabilities{} }

func (unopened) Put(context.Context, driver.Mode, ...Note) ([]Note, error) { return nil, errUnopened }
func (unopened) Get(context.Context, URI) (Note, error)                    { return Note{}, errUnopened }
func (unopened) Remove(context.Context, URI, bool) (int, error)            { return 0, errUnopened }
func (unopened) List(context.Context, URI) ([]Entry, error)                { return nil, errUnopened }
func (unopened) Move(context.Context, URI, URI) error                      { return errUnopened }
func (unopened) Find(context.Context, driver.Query) (Found, error)         { return Found{}, errUnopened }
func (unopened) Close() error                                              { return nil }

package driver

import "errors"

// The kinds of errors, in OpenRath's terms: see [KindOf].
var (
	ErrInvalidURI   = errors.New("not a memory URI")
	ErrInvalid      = errors.New("invalid argument")
	ErrNotFound     = errors.New("nothing is kept there")
	ErrExists       = errors.New("something else is kept there")
	ErrUnauthorized = errors.New("the memory server refuses this key")
	ErrTransport    = errors.New("the memory server cannot be reached")
	ErrUnsupported  = errors.New("this memory cannot do that")
	ErrConflict     = errors.New("somebody else has changed it meanwhile")
	ErrClosed       = errors.New("the memory is closed")
)

var kinds = []struct {
	err  error
	name string
}{
	{ErrInvalidURI, "invalid_uri"},
	{ErrInvalid, "invalid_uri"},
	{ErrNotFound, "not_found"},
	{ErrUnauthorized, "unauthorized"},
	{ErrTransport, "transport"},
	{ErrUnsupported, "unsupported"},
}

// KindOf returns OpenRath's name for the kind of an error: invalid_uri, not_found,
// unauthorized, transport, unsupported or internal.
func KindOf(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	return "internal"
}

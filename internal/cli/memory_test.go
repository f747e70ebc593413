package cli_test

import (
	"github.com/openrath-go/rath/memory/openviking/contract"
	"github.com/rogpeppe/go-internal/testscript"
)

// openVikingServer starts an OpenViking server, and tells the environment its address and
// its key: openviking.
func openVikingServer(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := contract.New(&contract.Options{APIKey: "key"})
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("VIKING", s.URL())
	ts.Setenv("OPENVIKING_API_KEY", "key")
}

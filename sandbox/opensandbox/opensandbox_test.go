//go:build unix

package opensandbox_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox"
	"github.com/openrath-go/rath/sandbox/opensandbox/contract"
	"github.com/openrath-go/rath/sandbox/sandboxtest"
	"github.com/openrath-go/rath/workspace"
	"go.uber.org/goleak"
)

// helperEnv has the test binary open a sandbox of a server, and wait to be killed.
const helperEnv = "RATH_TEST_OPENSANDBOX"

func TestMain(m *testing.M) {
	if url := os.Getenv(helperEnv); url != "" {
		sb, err := opensandbox.Open(context.Background(), &opensandbox.Options{URL: url, Image: "test"})
		if err != nil {
			panic(err)
		}
		fmt.Println(sb.ID())
		select {}
	}
	goleak.VerifyTestMain(m)
}

// serve starts a contract server.
func serve(t testing.TB, opts *contract.Options) *contract.Server {
	t.Helper()
	s, err := contract.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// open opens a sandbox of the image "test".
func open(t testing.TB, s *contract.Server, o opensandbox.Options) *sandbox.Sandbox {
	t.Helper()
	o.URL, o.Image = s.URL(), "test"
	sb, err := opensandbox.Open(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sb.Close(); err != nil {
			t.Error(err)
		}
	})
	return sb
}

// store opens a store for snapshots.
func store(t testing.TB) *workspace.Store {
	t.Helper()
	s, err := workspace.Open(t.Context(), filepath.Join(t.TempDir(), "shadow"), nil)
	if err != nil {
		t.Skip(err)
	}
	return s
}

// suite opens sandboxes of a server under any policy.
func suite(s *contract.Server, change func(*testing.T, *opensandbox.Options)) sandboxtest.Suite {
	return sandboxtest.Suite{Open: func(t *testing.T, p sandbox.Policy) (*sandbox.Sandbox, error) {
		o := opensandbox.Options{URL: s.URL(), Image: "test", Policy: p}
		change(t, &o)
		return opensandbox.Open(t.Context(), &o)
	}}
}

func TestConformance(t *testing.T) {
	s := serve(t, &contract.Options{Kernels: true})
	suite(s, func(t *testing.T, o *opensandbox.Options) { o.Workspace = store(t) }).Run(t)
}

func TestConformanceBound(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	s := serve(t, &contract.Options{AllowedHostPaths: []string{os.TempDir()}})
	suite(s, func(t *testing.T, o *opensandbox.Options) {
		o.Dir, o.StrictBind, o.Workspace = t.TempDir(), true, store(t)
	}).Run(t)
}

// With bwrap the contract server can take the network away, and the suite's own rules say
// whether it is gone. All requests go by the server.
func TestConformanceDenied(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	s := serve(t, &contract.Options{Egress: "dns+nft"})
	if !s.Isolated() {
		t.Skip("the contract server cannot deny networks without bwrap")
	}
	suite(s, func(t *testing.T, o *opensandbox.Options) {
		o.UseServerProxy = true
		if o.Policy.Network == "" {
			o.Policy.Network = sandbox.NetworkDeny
		}
	}).Run(t)
}

// TestRealExecd runs the suite with a real daemon behind the contract server. It serves one
// sandbox after the other, so that each begins by clearing the workspace.
func TestRealExecd(t *testing.T) {
	address := os.Getenv("RATH_EXECD_URL")
	if address == "" {
		t.Skip("RATH_EXECD_URL names no daemon")
	}
	s := serve(t, &contract.Options{NoSnapshots: true, Execd: address, ExecdToken: os.Getenv("RATH_EXECD_TOKEN")})
	sandboxtest.Run(t, func(t *testing.T) *sandbox.Sandbox {
		if len(s.IDs()) > 0 {
			t.Skip("the daemon has only one workspace")
		}
		sb := open(t, s, opensandbox.Options{})
		shell(t, sb, "find . -mindepth 1 -delete")
		return sb
	})
}

// TestRealServer runs the suite against a real server.
func TestRealServer(t *testing.T) {
	address := os.Getenv("RATH_OPENSANDBOX_URL")
	if address == "" {
		t.Skip("RATH_OPENSANDBOX_URL names no server")
	}
	image := os.Getenv("RATH_OPENSANDBOX_IMAGE")
	if image == "" {
		image = "python:3.13"
	}
	sandboxtest.Run(t, func(t *testing.T) *sandbox.Sandbox {
		sb, err := opensandbox.Open(t.Context(), &opensandbox.Options{
			URL: address, APIKey: os.Getenv("RATH_OPENSANDBOX_API_KEY"), Image: image,
			UseServerProxy: os.Getenv("RATH_OPENSANDBOX_PROXY") == "1", Workspace: store(t),
		})
		if err != nil {
			t.Fatal(err)
		}
		return sb
	})
}

// writer is a function that is written to.
type writer func([]byte)

func (w writer) Write(p []byte) (int, error) {
	w(p)
	return len(p), nil
}

func second[T any](_ T, err error) error { return err }

func itoa(n int) string { return strconv.Itoa(n) }

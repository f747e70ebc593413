//go:build unix

package sandboxtest

import (
	"context"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/openrath-go/rath/sandbox"
	"github.com/openrath-go/rath/sandbox/driver"
	"github.com/openrath-go/rath/sandbox/local"
)

// lie names a capability that the driver in TestLiar claims and does not have.
const lie = "RATH_TEST_LIE"

// Every capability has a rule that fails where it is claimed and is not there.
func TestEveryClaimIsChecked(t *testing.T) {
	if os.Getenv(lie) != "" {
		t.Skip("this is the liar")
	}
	for field := range reflect.TypeFor[sandbox.Capabilities]().Fields() {
		t.Run(field.Name, func(t *testing.T) {
			t.Parallel()
			rule := regexp.QuoteMeta(strings.ReplaceAll(ruleAbout(t, field.Name), " ", "_"))
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLiar$/^"+rule+"$", "-test.v")
			cmd.Env = append(os.Environ(), lie+"="+field.Name)
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "--- SKIP: TestLiar ") {
				t.Skipf("%s", out)
			}
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestLiar/") {
				t.Errorf("nothing fails: %v\n%s", err, out)
			}
		})
	}
}

// ruleAbout is the first rule that is about a capability more than about any other.
func ruleAbout(t *testing.T, capability string) string {
	t.Helper()
	for _, r := range rules() {
		if needs := strings.Fields(r.needs); len(needs) > 0 && needs[len(needs)-1] == capability {
			return r.name
		}
	}
	t.Fatalf("no rule is about %s", capability)
	return ""
}

func TestLiar(t *testing.T) {
	claim := os.Getenv(lie)
	if claim == "" {
		t.Skip("it is a part of TestEveryClaimIsChecked")
	}
	opts := &local.Options{}
	if claim == "NetLoopback" {
		opts.Policy.Level = sandbox.LevelLandlock // which has no network at all
	}
	if s, err := local.Open(t.Context(), t.TempDir(), opts); err != nil {
		t.Skip(err)
	} else {
		s.Close()
	}
	Run(t, func(t *testing.T) *sandbox.Sandbox {
		s, err := local.Open(t.Context(), t.TempDir(), opts)
		if err != nil {
			t.Fatal(err)
		}
		return sandbox.New(liar{s, claim})
	})
}

// liar is a driver that claims what it does not do.
type liar struct {
	*sandbox.Sandbox
	claim string
}

func (l liar) Capabilities() driver.Capabilities {
	c := l.Sandbox.Capabilities()
	field := reflect.ValueOf(&c).Elem().FieldByName(l.claim)
	if l.claim == "Languages" {
		c.Languages = []string{"python"}
	} else {
		field.SetBool(true)
	}
	return c
}

func (l liar) Exec(ctx context.Context, c driver.Command) (driver.Result, error) {
	if l.claim == "Exec" {
		return driver.Result{}, nil
	}
	return l.Sandbox.Exec(ctx, c)
}

func (l liar) RunCode(context.Context, driver.Code) (driver.CodeResult, error) {
	return driver.CodeResult{}, driver.ErrUnsupported
}

func (l liar) Read(ctx context.Context, name string, offset int64, max int) ([]byte, int64, error) {
	return l.ReadRange(ctx, name, offset, max)
}

func (l liar) Write(ctx context.Context, name string, data []byte) error {
	if l.claim == "Files" {
		return nil
	}
	return l.WriteFile(ctx, name, data)
}

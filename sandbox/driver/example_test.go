package driver_test

import (
	"errors"
	"fmt"

	"github.com/openrath-go/rath/sandbox/driver"
)

// open is the Open of a driver that cannot keep commands from networks, and says so instead of
// leaving it out.
func open(p driver.Policy) (driver.Sandbox, error) {
	if p.Network == driver.NetworkDeny {
		return nil, &driver.PolicyError{
			Level: "simple", Missing: "a denied network",
			Reason: "its commands share that of the machine", Remedy: "use another driver",
		}
	}
	return nil, errors.New("not here")
}

func ExamplePolicyError() {
	_, err := open(driver.Policy{Network: driver.NetworkDeny})
	var refused *driver.PolicyError
	fmt.Println(errors.As(err, &refused), errors.Is(err, driver.ErrUnsupported))
	fmt.Println(err)
	fmt.Println("hint:", refused.Hint())
	// Output:
	// true true
	// level "simple" cannot enforce a denied network: its commands share that of the machine
	// hint: use another driver
}

package driver_test

import (
	"fmt"

	"github.com/openrath-go/rath/memory/driver"
)

func ExampleParseURI() {
	u, err := driver.ParseURI("viking://user/memories/preferences/0a1b2c3d")
	fmt.Println(u, err)
	fmt.Println(u.Scope(), u.Base(), u.In("memory://user/memories"))
	_, err = driver.ParseURI("memory://user//x")
	fmt.Println(err != nil)
	// Output:
	// memory://user/memories/preferences/0a1b2c3d <nil>
	// user 0a1b2c3d true
	// true
}

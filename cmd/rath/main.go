// Rath runs agents over sessions that can be traced, branched and trusted.
package main

import (
	"os"

	"github.com/openrath-go/rath/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }

// SPDX-License-Identifier: Apache-2.0

// Command gputally-agent measures who holds which GPU memory on one node, and
// keeps usage records of it. This package reads the configuration and wires
// the parts together; what they do is in internal/.
package main

import (
	"os"
)

func main() { os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr)) }

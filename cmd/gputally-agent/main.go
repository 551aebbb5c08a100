// SPDX-License-Identifier: Apache-2.0

// Command gputally-agent measures who holds which GPU memory on one node, and
// keeps usage records of it. This package reads the configuration and wires
// the parts together; what they do is in internal/.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
)

func main() {
	beFrugal()
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// A guest on the node takes little of it. One CPU at a time is enough for what
// it does, and spares Go waking threads for each other; calls that wait in the
// driver or the kernel do not count. GOGC and GOMAXPROCS say otherwise
// (docs/cost.md).
const (
	gcPercent = 75
	maxCPUs   = 1
)

func beFrugal() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(maxCPUs)
	}
}

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

// A guest on the node takes little of it: garbage is collected when the heap
// has grown by half, not doubled, and on at most two CPUs, since what Go keeps
// for each CPU adds up on nodes of hundreds. GOGC and GOMAXPROCS say otherwise
// (docs/cost.md).
const (
	gcPercent = 50
	maxCPUs   = 2
)

func beFrugal() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) > maxCPUs {
		runtime.GOMAXPROCS(maxCPUs)
	}
}

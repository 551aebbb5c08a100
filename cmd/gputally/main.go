// SPDX-License-Identifier: Apache-2.0

// Command gputally is everything of gputally but the node agent: it replays
// captures, and shows what agents see.
package main

import "os"

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

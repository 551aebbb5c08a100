// SPDX-License-Identifier: Apache-2.0

// Command gputally is everything of gputally but the node agent: it replays
// captures, and shows what agents see.
package main

import "os"

func main() { os.Exit(start(os.Args, os.Stdout, os.Stderr)) }

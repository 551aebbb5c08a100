// SPDX-License-Identifier: Apache-2.0

// Package capture owns the capture file: what the sources of one or several
// GPU nodes answered over time, in their own shapes, sparse (a value holds
// until it changes), in YAML for people and in JSON lines for agents. It reads
// such a file into samples, writes samples into such a file without loss, and
// replaces names by pseudonyms.
//
// It does not judge what it reads (package attribution does) and does not
// read the sources themselves (the other adapters do). The format is described
// in docs/formats/capture.md.
package capture

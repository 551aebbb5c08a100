// SPDX-License-Identifier: Apache-2.0

// Package scenario owns the stories: captures with expectations, each a case
// that some GPU accounting got wrong. Its test plays every file of testdata
// through the core and compares splits, findings, unknown figures, grades and
// identities with what the file expects, and the whole outcome with the golden
// file beside it.
//
// The files C… and X… are converted from the design's stories by the command
// in convert; the others are written by hand.
package scenario

// SPDX-License-Identifier: Apache-2.0

// Package pricing says what a node costs in an hour, and how much of that is
// its GPUs', its CPUs' and its memory's.
//
// It owns price rows and their order of precedence, effective dates, the rules
// by which a node's one price is split, and the on-premises formula. It does
// not know who used a node (allocation), and reads no file (adapters do).
package pricing

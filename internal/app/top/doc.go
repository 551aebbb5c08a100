// SPDX-License-Identifier: Apache-2.0

// Package top owns the picture of what agents see now: GPUs with their memory
// bars, holders, platform rows, signals, grades and findings, sorted, filtered
// and laid out as lines of styled text of a given width.
//
// It knows no terminal (adapter termview draws the lines and reads keys), reads
// no agent (see Source) and judges nothing: figures, grades and findings are
// package attribution's.
package top

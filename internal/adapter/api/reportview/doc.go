// SPDX-License-Identifier: Apache-2.0

// Package reportview makes text for people of the API's answers: aligned tables,
// Markdown and CSV of reports, and what the other commands print.
//
// It owns how answers look: which columns, how numbers are rounded, in which words
// a total stands beside what the nodes cost. Tables round; CSV and JSON are exact.
// It asks nobody and computes no money: what it prints is what the answer says.
package reportview

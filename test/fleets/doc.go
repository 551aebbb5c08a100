// SPDX-License-Identifier: Apache-2.0

// Package fleets takes fleets that others measured or described, and one of our
// own whose truth is known, through all rooms: samples, attribution, records,
// rating, ledger, report.
//
// It owns how such a fleet becomes samples of nodes, and the figures that
// docs/real-fleets.md shows. It decides no rule: what the rooms make of the samples
// is what is looked at.
package fleets

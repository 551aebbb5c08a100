// SPDX-License-Identifier: Apache-2.0

// Command packing measures how far repacking plans are from the cheapest packing
// there is, and how long the search takes, on fleets that are made of a packing
// known to be the cheapest, with cards of every MIG model. It prints a table, or
// writes it between the markers of docs/packing-speed.md. It owns those fleets and
// figures, and no rule.
package main

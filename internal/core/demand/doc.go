// SPDX-License-Identifier: Apache-2.0

// Package demand owns what an inference engine says of the memory that it took
// in advance: which names its metrics have, what they mean, whose endpoint may be
// asked, and how much of what a pod holds it needs, or why that is not known.
//
// It does not fetch a page or read its format (adapter enginehttp does), sum
// looks over time (package usage) or propose anything (package advice). The
// rules, with their numbers, are in docs/engines.md.
package demand

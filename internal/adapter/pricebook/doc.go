// SPDX-License-Identifier: Apache-2.0

// Package pricebook reads price books: gputally's own in YAML, and OpenCost's
// CSV of prices as rows of one.
//
// It owns the formats and the places of mistakes in them. It does not know what
// a price means, which rows win or whether a price makes sense: that is core's
// pricing.
package pricebook

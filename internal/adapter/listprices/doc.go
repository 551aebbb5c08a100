// SPDX-License-Identifier: Apache-2.0

// Package listprices is the built-in list: public list prices of common GPU
// instances and GPU clouds, each with the days on which it was seen and its
// source.
//
// It owns the snapshot and its format. It fetches nothing: tools/listprices
// makes the snapshot from public data, and README.md here says what is in it
// and whose data it is.
package listprices

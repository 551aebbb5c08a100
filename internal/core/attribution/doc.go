// SPDX-License-Identifier: Apache-2.0

// Package attribution owns the answer to "who holds which GPU memory": one
// sample in, for each partition the holders, the driver's reserve, what nobody
// can be named for and what is free, and the findings that follow.
//
// It is a pure function of the sample and of what it remembers from earlier
// samples (see Memory). It does not read anything, sum over time (package
// usage does) or know prices.
package attribution

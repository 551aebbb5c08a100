// SPDX-License-Identifier: Apache-2.0

// Package billing owns the loop that rates hours of nodes and the answers that
// are given from the ledger: reports, explanations, prices, closed months, checks,
// exports, what-ifs.
//
// It decides no rule of money: core does. It keeps nothing: a store does, through
// the interfaces of ports.go. How answers travel and look is the adapters' and the
// commands' business.
package billing

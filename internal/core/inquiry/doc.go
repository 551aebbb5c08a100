// SPDX-License-Identifier: Apache-2.0

// Package inquiry owns the questions that can be asked of the ledger and the
// shapes of their answers, as values of core: what app/billing answers and the
// HTTP API and the command line pass on.
//
// It answers none of them and knows no transport. Where another package of core
// has the shape already (report.Report, ledger.Closed, pricing.Comparison), that
// one is used.
package inquiry

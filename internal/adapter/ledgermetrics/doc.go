// SPDX-License-Identifier: Apache-2.0

// Package ledgermetrics shows how a server stands as Prometheus metrics: what it
// took, how far it has rated, and what things cost for dashboards.
//
// It owns names, labels and help of these series (docs/server-metrics.md is made
// from them). Amounts are floating point here and for display only: the ledger is
// exact, a metrics system is not. The agent's metrics are adapter promexport's.
package ledgermetrics

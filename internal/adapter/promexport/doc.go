// SPDX-License-Identifier: Apache-2.0

// Package promexport owns the agent's Prometheus and OpenMetrics face: the one
// list of metrics (metrics.go), from which docs/metrics.md is made, and the
// collector that fills it from the agent's last picture of the node.
//
// It computes nothing: a figure that is not in the picture is not here. What
// is unknown has no series; it is never 0. How it is served is package
// agenthttp's.
package promexport

// SPDX-License-Identifier: Apache-2.0

// Package agenthttp owns what the agent serves over HTTP: /metrics, /healthz,
// /readyz, /api/v1/node and a page that lists them, and the client that reads
// /api/v1/node.
//
// It does not make what it serves: metrics are package promexport's, the
// picture of the node is the agent's.
package agenthttp

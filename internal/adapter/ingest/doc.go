// SPDX-License-Identifier: Apache-2.0

// Package ingest owns the protocol by which agents deliver usage batches to a
// server over HTTP: its messages, the server's handler with limits and
// authentication, the agent's client, and the directory in which an agent keeps
// batches that were refused.
//
// It does not write to a store (app/server does, behind Taker) nor decide what to
// send when (app/ship does). The bytes are described in docs/formats/ingest.md.
package ingest

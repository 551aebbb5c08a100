// SPDX-License-Identifier: Apache-2.0

// Package ship owns the agent's side of delivery: it reads the spool, sends
// batches to the server in groups, and lets the spool forget only what the server
// has made durable. It waits out days without a server, and notices when the
// server lost what it had accepted or was restored from an older backup.
//
// It does not own the spool, the protocol (adapter/ingest) or the counting
// (core/journal): ports.go names what it needs of them.
package ship

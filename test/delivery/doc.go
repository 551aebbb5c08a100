// SPDX-License-Identifier: Apache-2.0

// Package delivery tests the way of a batch from an agent's spool to the
// server's journal with the real parts: spool, shipping loop, HTTP client and
// server, group commit, DuckDB. The server is a process of its own, which is
// killed, and whose files are damaged. Two tests begin at the agent's program, over
// a staged node. One goes on to the end, with the program gputally: whatever happens
// to records and servers on the way, the ledger comes to the same. It has no code
// for others.
package delivery

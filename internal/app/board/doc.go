// SPDX-License-Identifier: Apache-2.0

// Package board keeps the newest record of every node in memory, as package scene
// shows it, so that "what is on my GPUs now" is answered without asking the store.
// It also reads from the journal who had one GPU when, and findings over a time.
//
// It accepts nothing, counts no money and knows no transport: the server's ingest
// hands it what was accepted, and the HTTP API asks it.
package board

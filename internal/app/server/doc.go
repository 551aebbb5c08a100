// SPDX-License-Identifier: Apache-2.0

// Package server owns the loops of the gputally server: taking deliveries of
// usage batches from node agents and writing them in groups, making them
// durable, moving old hours out of the way, and making days of the ledger fast to
// read.
//
// It does not own how deliveries arrive (adapter/ingest), where they are kept
// (adapter/duck), or what a batch means (core/usage). ports.go names what it
// needs of a store; test/storetest is what a store must pass.
package server

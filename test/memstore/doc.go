// SPDX-License-Identifier: Apache-2.0

// Package memstore is a store of the ledger in memory: the plainest thing that
// app/billing can stand on, for tests of what stands on that in turn. All it does
// is core's rules over slices.
//
// It is no engine: it is as large as memory, and gone with the process. What an
// engine must do is package storetest's.
package memstore

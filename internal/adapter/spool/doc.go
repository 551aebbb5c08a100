// SPDX-License-Identifier: Apache-2.0

// Package spool owns the node's queue of usage batches on disk: an append-only
// run of segment files that survives kill -9, a full disk and days without a
// server, and the small state files beside it.
//
// What it promises, and on what assumptions:
//   - A batch whose Append returned nil is on disk: written and fsynced. The
//     disk is assumed to honour fsync.
//   - A kill or power cut loses at most the batch being written; the torn rest
//     is cut off by the next Open and reported.
//   - Bytes damaged later cost the records they lie in, are reported with file
//     and offset, and never stop the reading of what follows.
//   - Nothing is lost silently: batches that had to go, because the spool or
//     the disk was full, leave a gap record that names them.
//   - One process writes, guarded by a lock file; any number may read.
//
// The bytes are described in docs/formats/spool.md. What a batch means is
// package usage's business; shipping it is somebody else's.
package spool

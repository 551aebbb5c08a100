// SPDX-License-Identifier: Apache-2.0

// Package scene owns what people look at: what is on a node's GPUs by its newest
// record, who had one GPU when, and findings as they stood over time. Each is made
// from usage records by a pure function.
//
// It knows no money, reads no store and draws nothing: package app/board keeps the
// newest records, the HTTP API tells them, the web page draws them.
package scene

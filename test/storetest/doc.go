// SPDX-License-Identifier: Apache-2.0

// Package storetest owns the contract of a usage store: one suite that every
// engine must pass, and the generators of batches that it and other tests draw
// from. It knows the interfaces of app/server and no engine.
//
// An engine's test calls Run with a function that opens it, and Main first in
// its TestMain, so that the suite can start a second process and kill it.
package storetest

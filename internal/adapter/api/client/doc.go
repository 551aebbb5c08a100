// SPDX-License-Identifier: Apache-2.0

// Package client asks a gputally server over its HTTP API, version 1: it finds the
// server, lets itself in, and turns what goes wrong into errors that say what to
// do.
//
// The shapes of answers are package v1's. It retries nothing: a person or a
// program asks again.
package client
